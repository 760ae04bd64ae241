/**
 * The fault script of one stream. It replaces each frame of the ledger with the frames to send. It uses no sockets. The
 * connection executes its result.
 */
import { matchesPath, consumeFault } from './faults.ts';
import type { Faults, Moment } from './faults.ts';
import * as edit from './frame-edits.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { namedFailure } from './named-failures.ts';
import type { Random } from '../wire/random.ts';

/** One action on the socket. */
export type Output =
  | { readonly do: 'send'; readonly text: string }
  /** A text or binary frame with these bytes, valid or not. Two parts are sent as two fragments. */
  | { readonly do: 'send-bytes'; readonly parts: readonly Buffer[]; readonly binary: boolean }
  /** Sends these bytes unchanged, perhaps none, and then ends TCP with FIN or RST. */
  | { readonly do: 'break-off'; readonly bytes: Buffer; readonly reset: boolean }
  | { readonly do: 'close'; readonly code: number };

const breakOff: Output = { do: 'break-off', bytes: Buffer.alloc(0), reset: false };

export interface Scene {
  readonly faults: Faults;
  readonly ledger: Ledger;
  /** Path of the stream's endpoint. */
  readonly path: string;
  readonly random: Random;
}

type MomentFault =
  | 'cut'
  | 'cutMidFrame'
  | 'reset'
  | 'close'
  | 'streamFailure'
  | 'duplicateUpdates'
  | 'swapUpdates'
  | 'loseUpdates'
  | 'unknownKind'
  | 'dropKeys'
  | 'addKeys'
  | 'reverseParties'
  | 'newerViews'
  | 'prune'
  | 'invalidJson'
  | 'invalidUtf8'
  | 'binaryFrames'
  | 'splitFrames'
  | 'oversizedFrames';

/** Changes of a frame by fault, in the order in which they are applied. */
const edits: readonly [MomentFault, (text: string, faults: Faults) => string][] = [
  ['unknownKind', edit.withUnknownKind],
  ['dropKeys', (text, { dropKeys }) => edit.withoutKeys(text, dropKeys?.keys ?? [])],
  ['addKeys', (text, { addKeys }) => edit.withKeys(text, addKeys?.keys ?? {})],
  ['reverseParties', edit.withPartiesReversed],
  ['newerViews', (text, { newerViews }) => edit.withNewerViews(text, newerViews?.packageId ?? '')],
  ['oversizedFrames', (text, { oversizedFrames }) => edit.padFrame(text, oversizedFrames?.bytes ?? 0)],
  ['invalidJson', (text) => text.slice(0, Math.ceil(text.length / 2))],
];

/** Faults that apply only to updates. */
const updateFaults = new Set<MomentFault>(['duplicateUpdates', 'swapUpdates', 'loseUpdates', 'unknownKind']);

export class FrameScript {
  readonly #scene: Scene;
  readonly #cutAfter: number;
  /** A frame that is delayed until its successor was sent. */
  #held: string | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
    const framesPerCut = scene.faults.cutEveryFrames;
    this.#cutAfter = framesPerCut === undefined ? Infinity : scene.random.between(framesPerCut.min, framesPerCut.max);
  }

  /** The fault that delays the next frame now. @param frameCount number of frames sent since the start */
  holds(frameCount: number): 'stall' | 'half-open' | undefined {
    const { faults, path } = this.#scene;
    const { halfOpen, stall, neverAnswer } = faults;
    if (halfOpen !== undefined && matchesPath(halfOpen, path) && frameCount >= (halfOpen.afterFrames ?? 0))
      return 'half-open';
    const isUnresponsive = neverAnswer === true || (typeof neverAnswer === 'object' && matchesPath(neverAnswer, path));
    const isStalled = stall !== undefined && matchesPath(stall, path) && frameCount >= stall.afterFrames;
    return isUnresponsive || isStalled ? 'stall' : undefined;
  }

  /** Milliseconds to wait before a frame. */
  delayMs(): number {
    const { slowFrames } = this.#scene.faults;
    return slowFrames !== undefined && matchesPath(slowFrames, this.#scene.path) ? slowFrames.delayMs : 0;
  }

  answersPings(frameCount: number): boolean {
    const { ignorePings } = this.#scene.faults;
    const isIgnored = ignorePings !== undefined && matchesPath(ignorePings, this.#scene.path);
    return !isIgnored && this.holds(frameCount) !== 'half-open';
  }

  answersClose(frameCount: number): boolean {
    const { ignoreClose } = this.#scene.faults;
    const isIgnored = ignoreClose !== undefined && matchesPath(ignoreClose, this.#scene.path);
    return !isIgnored && this.holds(frameCount) !== 'half-open';
  }

  /** The action that replaces sending this text as one text frame. */
  outputs(text: string, frameCount: number): readonly Output[] {
    this.#prune(text, frameCount);
    const end = this.#end(text, frameCount);
    if (end !== undefined) return end;
    const outputs: Output[] = [];
    for (const frame of this.#sequence(text, frameCount))
      outputs.push(this.#encoded(frame, frameCount + outputs.length));
    const framesUntilCut = this.#cutAfter - frameCount;
    return outputs.length >= framesUntilCut ? [...outputs.slice(0, Math.max(1, framesUntilCut)), breakOff] : outputs;
  }

  /** Frames that are still delayed at the end of the stream. */
  rest(): readonly string[] {
    const heldFrame = this.#held;
    this.#held = undefined;
    return heldFrame === undefined ? [] : [heldFrame];
  }

  #now<K extends MomentFault>(name: K, text: string, frameCount: number): Faults[K] | undefined {
    const { faults, path } = this.#scene;
    const fault: Moment | undefined = faults[name];
    if (fault === undefined || !matchesPath(fault, path) || frameCount < (fault.afterFrames ?? 0)) return undefined;
    if (fault.atOffset !== undefined && fault.atOffset !== edit.offsetOf(text)) return undefined;
    return updateFaults.has(name) && !edit.isUpdate(text) ? undefined : faults[name];
  }

  /** The same as `#now`, but counts one occurrence. */
  #take<K extends MomentFault>(name: K, text: string, frameCount: number): Faults[K] | undefined {
    const fault = this.#now(name, text, frameCount);
    if (fault !== undefined) consumeFault(this.#scene.faults, name);
    return fault;
  }

  #prune(text: string, frameCount: number): void {
    const { ledger } = this.#scene;
    const prune = this.#take('prune', text, frameCount);
    if (prune === undefined) return;
    if (prune.to === undefined) ledger.skipOffsets(1);
    ledger.pruneTo(prune.to ?? ledger.ledgerEnd());
  }

  #end(text: string, frameCount: number): readonly Output[] | undefined {
    const { faults, ledger } = this.#scene;
    const { errorFrameOnce: error, closeWith1011Once: crashClose } = faults;
    if (error !== undefined && frameCount >= (error.afterFrames ?? 0)) {
      faults.errorFrameOnce = undefined;
      return refusal(error.body);
    }
    if (crashClose !== undefined && frameCount >= crashClose.afterFrames) {
      faults.closeWith1011Once = undefined;
      return [{ do: 'close', code: 1011 }];
    }
    const streamFault = this.#take('streamFailure', text, frameCount);
    if (streamFault !== undefined) return refusal(namedFailure(streamFault.failure, ledger).body);
    const closeFault = this.#take('close', text, frameCount);
    if (closeFault !== undefined) return [{ do: 'close', code: closeFault.code }];
    if (this.#take('cut', text, frameCount) !== undefined) return [breakOff];
    return this.#brokenOff('cutMidFrame', text, frameCount) ?? this.#brokenOff('reset', text, frameCount);
  }

  #brokenOff(name: 'cutMidFrame' | 'reset', text: string, frameCount: number): readonly Output[] | undefined {
    const fault = this.#take(name, text, frameCount);
    if (fault === undefined) return undefined;
    const frameBytes = edit.wireBytes(text);
    const bytes = frameBytes.subarray(0, fault.bytes ?? this.#scene.random.between(1, frameBytes.length - 1));
    return [{ do: 'break-off', bytes, reset: name === 'reset' }];
  }

  /** The frames that replace one frame: none, the frame, the frame twice, or two frames in the wrong order. */
  #sequence(text: string, frameCount: number): readonly string[] {
    if (this.#take('loseUpdates', text, frameCount) !== undefined) return [];
    const heldFrame = this.#held;
    if (heldFrame === undefined && this.#now('swapUpdates', text, frameCount) !== undefined) {
      this.#held = text;
      return [];
    }
    const isDuplicated =
      this.#take('duplicateUpdates', text, frameCount) !== undefined ||
      (this.#scene.faults.duplicateCheckpoints === true && edit.isCheckpoint(text));
    const frames = isDuplicated ? [text, text] : [text];
    if (heldFrame === undefined) return frames;
    this.#held = undefined;
    if (!edit.isUpdate(text)) return [heldFrame, ...frames];
    consumeFault(this.#scene.faults, 'swapUpdates');
    return [...frames, heldFrame];
  }

  #encoded(frame: string, frameCount: number): Output {
    let text = frame;
    for (const [name, change] of edits) {
      if (this.#now(name, frame, frameCount) === undefined) continue;
      text = change(text, this.#scene.faults);
      consumeFault(this.#scene.faults, name);
    }
    if (this.#take('binaryFrames', frame, frameCount) !== undefined) {
      return { do: 'send-bytes', parts: [Buffer.from(text)], binary: true };
    }
    if (this.#take('invalidUtf8', frame, frameCount) !== undefined) {
      return { do: 'send-bytes', parts: [edit.brokenUtf8(text)], binary: false };
    }
    if (this.#take('splitFrames', frame, frameCount) !== undefined) {
      return { do: 'send-bytes', parts: edit.splitInHalf(text), binary: false };
    }
    return { do: 'send', text };
  }
}

function refusal(body: JsonObject): readonly Output[] {
  return [
    { do: 'send', text: JSON.stringify(body) },
    { do: 'close', code: 1000 },
  ];
}
