/**
 * Recordings: files of ready WebSocket frames with an index of their positions, created once per profile and cached. A
 * recording of many transactions is also used for shorter runs. Increment `format` when the frames change.
 */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { activeContractFrame, createdEvent, exercisedEvent, transactionFrame, type Contract } from './events.ts';
import { frameHeader, opcodes } from './frame.ts';
import { contractId, randomFrom, templateName, type Random } from './names.ts';
import { hugeAt, openingSize, openingTransactions, type Profile } from './profiles.ts';

export const format = 2;
const flushBytes = 8 * 1024 * 1024;

export interface Recording {
  /** Path of the file of frames; `.index` and `.json` are next to it. */
  readonly path: string;
  readonly frames: number;
  readonly bytes: number;
}

export interface RecordingRequest {
  readonly folder: string;
  readonly profile: Profile;
  /** Number of transactions of the workload, or of entries of active contracts. */
  readonly count: number;
  /**
   * Number of contracts that exist before the stream begins. Half of the archives end these contracts. See
   * `bench/growth/preload.ts`.
   */
  readonly preloaded?: number;
  readonly say: (text: string) => void;
}

/** The update stream of a profile, from the cache if that is long enough. Offsets are 1, 2, 3 … without gaps. */
export function updatesRecording(request: RecordingRequest): Recording {
  const { profile, preloaded: preloadedCount = 0 } = request;
  const name =
    preloadedCount === 0 ? `updates-${profile.name}` : `updates-${profile.name}-over-${String(preloadedCount)}`;
  const frameCount = openingTransactions(profile) + request.count;
  return cached(request, name, frameCount, (writer) => {
    const ledger = new RecordedLedger(profile, preloadedCount);
    const hugeIndex = hugeAt(profile, request.count);
    for (let index = 0; index < openingTransactions(profile); index += 1) {
      writer.add(ledger.opening(openingSize(profile, index)));
    }
    for (let index = 0; index < request.count; index += 1) {
      writer.add(index === hugeIndex ? ledger.transaction(Math.floor(profile.hugeEvents / 3), 0) : ledger.usual());
    }
  });
}

/** Entries of active contracts. Entry k was created at offset k + 1. */
export function activeContractsRecording(request: RecordingRequest): Recording {
  const { profile } = request;
  return cached(request, `active-contracts-${profile.name}`, request.count, (writer) => {
    const random = randomFrom(77);
    for (let index = 0; index < request.count; index += 1) {
      const contract = { id: contractId('seeded', index), template: templateName(random(profile.templates)) };
      writer.add(activeContractFrame({ offset: index + 1, nodeId: 0 }, contract, random, profile.payloadBytes));
    }
  });
}

/** Byte positions of all frames of a recording, and the end of the last one. */
export function recordingIndex(path: string): Float64Array {
  const bytes = readFileSync(`${path}.index`);
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** If there are preloaded contracts, one archive in this many ends one of them. */
const preloadedShare = 2;
/** One preloaded contract in this many is active, see `bench/growth/preload.ts`. */
export const preloadedPerActive = 10;

class RecordedLedger {
  readonly #profile: Profile;
  readonly #preloaded: number;
  readonly #random: Random = randomFrom(4711);
  readonly #pool: Contract[] = [];
  readonly #archived = new Set<number>();
  #offset = 0;
  #created = 0;

  constructor(profile: Profile, preloadedCount: number) {
    this.#profile = profile;
    this.#preloaded = preloadedCount;
  }

  opening(creates: number): string {
    this.#offset += 1;
    const events = Array.from({ length: creates }, (_, nodeId) => {
      const contract = this.#newContract();
      this.#pool.push(contract);
      return createdEvent({ offset: this.#offset, nodeId }, contract, this.#random, this.#profile.payloadBytes);
    });
    return transactionFrame(this.#offset, events, this.#random);
  }

  usual(): string {
    return this.transaction(this.#profile.triples, this.#profile.extraExercises);
  }

  transaction(triples: number, extraExercises: number): string {
    this.#offset += 1;
    const offset = this.#offset;
    const events: string[] = [];
    for (let triple = 0; triple < triples; triple += 1) {
      const nodeId = events.length;
      const successor = this.#newContract();
      const payloadBytes = this.#profile.hugeEvents > 0 && triples > 1 ? 300 : this.#profile.payloadBytes;
      events.push(
        exercisedEvent({ offset, nodeId }, this.#anyActive(), this.#random),
        exercisedEvent({ offset, nodeId: nodeId + 1 }, this.#replaced(successor), this.#random, successor),
        createdEvent({ offset, nodeId: nodeId + 2 }, successor, this.#random, payloadBytes),
      );
    }
    for (let extraIndex = 0; extraIndex < extraExercises; extraIndex += 1) {
      events.push(exercisedEvent({ offset, nodeId: events.length }, this.#anyActive(), this.#random));
    }
    return transactionFrame(offset, events, this.#random);
  }

  #newContract(): Contract {
    this.#created += 1;
    const template = templateName(this.#random(this.#profile.templates));
    return { id: contractId('streamed', this.#created), template };
  }

  #anyActive(): Contract {
    return this.#pool[this.#random(this.#pool.length)] ?? this.#newContract();
  }

  /**
   * Returns the contract to archive: one from the pool, or, as long as there are any, one that existed before the
   * stream.
   */
  #replaced(successor: Contract): Contract {
    const activeShare = Math.floor(this.#preloaded / preloadedPerActive) - this.#archived.size;
    if (activeShare > 0 && this.#random(preloadedShare) === 0) return this.#preloadedActive();
    const poolIndex = this.#random(this.#pool.length);
    const archivedContract = this.#pool[poolIndex] ?? successor;
    this.#pool[poolIndex] = successor;
    return archivedContract;
  }

  #preloadedActive(): Contract {
    const activeCount = Math.floor(this.#preloaded / preloadedPerActive);
    let number = this.#random(activeCount);
    while (this.#archived.has(number)) number = (number + 1) % activeCount;
    this.#archived.add(number);
    return { id: contractId('preloaded', (number + 1) * preloadedPerActive), template: templateName(0) };
  }
}

interface FrameWriter {
  add(text: string): void;
}

/** Finds a recording of at least `frameCount` frames, or creates one. The description is written last. */
function cached(
  { folder, say: logLine }: RecordingRequest,
  name: string,
  frameCount: number,
  make: (writer: FrameWriter) => void,
): Recording {
  const path = join(folder, `${name}.frames`);
  const existingRecording = describeRecording(`${path}.json`);
  if (
    existingRecording !== undefined &&
    existingRecording.format === format &&
    existingRecording.frames >= frameCount
  ) {
    return { path, frames: existingRecording.frames, bytes: existingRecording.bytes };
  }
  logLine(`recording ${name}: ${String(frameCount)} frames, once`);
  mkdirSync(folder, { recursive: true });
  rmSync(`${path}.json`, { force: true });
  // The name is temporary until the recording is complete, because another run may be reading the previous one.
  const temporary = `${path}.${String(process.pid)}`;
  const { frames, bytes } = writeRecording(temporary, frameCount, make);
  renameSync(temporary, path);
  renameSync(`${temporary}.index`, `${path}.index`);
  writeFileSync(`${path}.json`, JSON.stringify({ format, frames, bytes }));
  return { path, frames, bytes };
}

function writeRecording(path: string, frameCount: number, make: (writer: FrameWriter) => void) {
  const positions = new Float64Array(frameCount + 1);
  const file = openSync(path, 'w');
  let pendingChunks: Buffer[] = [];
  let waitingBytes = 0;
  let frames = 0;
  let bytes = 0;
  const flush = (): void => {
    const block = Buffer.concat(pendingChunks);
    for (let writtenBytes = 0; writtenBytes < block.length;) writtenBytes += writeSync(file, block, writtenBytes);
    pendingChunks = [];
    waitingBytes = 0;
  };
  make({
    add: (text) => {
      const payload = Buffer.from(text);
      const header = frameHeader(opcodes.text, payload.length);
      pendingChunks.push(header, payload);
      waitingBytes += header.length + payload.length;
      bytes += header.length + payload.length;
      frames += 1;
      positions[frames] = bytes;
      if (waitingBytes > flushBytes) flush();
    },
  });
  flush();
  closeSync(file);
  writeFileSync(`${path}.index`, new Uint8Array(positions.buffer));
  return { frames, bytes };
}

interface Description {
  readonly format: number;
  readonly frames: number;
  readonly bytes: number;
}

function describeRecording(path: string): Description | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Description;
  } catch {
    return undefined;
  }
}
