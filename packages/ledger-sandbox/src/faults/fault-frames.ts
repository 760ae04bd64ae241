/**
 * The fault script of one stream. It replaces each frame of the ledger with the frames to send. It uses no sockets. The
 * connection executes its result.
 */
import { isFor, spend } from './faults.ts';
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

const cut: Output = { do: 'break-off', bytes: Buffer.alloc(0), reset: false };

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
  ['unknownKind', edit.ofUnknownKind],
  ['dropKeys', (text, { dropKeys }) => edit.withoutKeys(text, dropKeys?.keys ?? [])],
  ['addKeys', (text, { addKeys }) => edit.withKeys(text, addKeys?.keys ?? {})],
  ['reverseParties', edit.withPartiesReversed],
  ['newerViews', (text, { newerViews }) => edit.withNewerViews(text, newerViews?.packageId ?? '')],
  ['oversizedFrames', (text, { oversizedFrames }) => edit.padded(text, oversizedFrames?.bytes ?? 0)],
  ['invalidJson', (text) => text.slice(0, Math.ceil(text.length / 2))],
];

/** Faults that apply only to updates. */
const ofUpdates = new Set<MomentFault>(['duplicateUpdates', 'swapUpdates', 'loseUpdates', 'unknownKind']);

export class FrameScript {
  readonly #scene: Scene;
  readonly #cutAfter: number;
  /** A frame that is delayed until its successor was sent. */
  #held: string | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
    const every = scene.faults.cutEveryFrames;
    this.#cutAfter = every === undefined ? Infinity : scene.random.between(every.min, every.max);
  }

  /** The fault that delays the next frame now. @param sent number of frames sent since the start */
  holds(sent: number): 'stall' | 'half-open' | undefined {
    const { faults, path } = this.#scene;
    const { halfOpen, stall, neverAnswer } = faults;
    if (halfOpen !== undefined && isFor(halfOpen, path) && sent >= (halfOpen.afterFrames ?? 0)) return 'half-open';
    const mute = neverAnswer === true || (typeof neverAnswer === 'object' && isFor(neverAnswer, path));
    const stalled = stall !== undefined && isFor(stall, path) && sent >= stall.afterFrames;
    return mute || stalled ? 'stall' : undefined;
  }

  /** Milliseconds to wait before a frame. */
  delayMs(): number {
    const { slowFrames } = this.#scene.faults;
    return slowFrames !== undefined && isFor(slowFrames, this.#scene.path) ? slowFrames.delayMs : 0;
  }

  answersPings(sent: number): boolean {
    const { ignorePings } = this.#scene.faults;
    const ignored = ignorePings !== undefined && isFor(ignorePings, this.#scene.path);
    return !ignored && this.holds(sent) !== 'half-open';
  }

  answersClose(sent: number): boolean {
    const { ignoreClose } = this.#scene.faults;
    const ignored = ignoreClose !== undefined && isFor(ignoreClose, this.#scene.path);
    return !ignored && this.holds(sent) !== 'half-open';
  }

  /** The action that replaces sending this text as one text frame. */
  outputs(text: string, sent: number): readonly Output[] {
    this.#prune(text, sent);
    const end = this.#end(text, sent);
    if (end !== undefined) return end;
    const outputs: Output[] = [];
    for (const frame of this.#sequence(text, sent)) outputs.push(this.#encoded(frame, sent + outputs.length));
    const cutAt = this.#cutAfter - sent;
    return outputs.length >= cutAt ? [...outputs.slice(0, Math.max(1, cutAt)), cut] : outputs;
  }

  /** Frames that are still delayed at the end of the stream. */
  rest(): readonly string[] {
    const held = this.#held;
    this.#held = undefined;
    return held === undefined ? [] : [held];
  }

  #now<K extends MomentFault>(name: K, text: string, sent: number): Faults[K] | undefined {
    const { faults, path } = this.#scene;
    const fault: Moment | undefined = faults[name];
    if (fault === undefined || !isFor(fault, path) || sent < (fault.afterFrames ?? 0)) return undefined;
    if (fault.atOffset !== undefined && fault.atOffset !== edit.offsetOf(text)) return undefined;
    return ofUpdates.has(name) && !edit.isUpdate(text) ? undefined : faults[name];
  }

  /** The same as `#now`, but counts one occurrence. */
  #take<K extends MomentFault>(name: K, text: string, sent: number): Faults[K] | undefined {
    const fault = this.#now(name, text, sent);
    if (fault !== undefined) spend(this.#scene.faults, name);
    return fault;
  }

  #prune(text: string, sent: number): void {
    const { ledger } = this.#scene;
    const prune = this.#take('prune', text, sent);
    if (prune === undefined) return;
    if (prune.to === undefined) ledger.skipOffsets(1);
    ledger.pruneTo(prune.to ?? ledger.ledgerEnd());
  }

  #end(text: string, sent: number): readonly Output[] | undefined {
    const { faults, ledger } = this.#scene;
    const { errorFrameOnce: error, closeWith1011Once: crash } = faults;
    if (error !== undefined && sent >= (error.afterFrames ?? 0)) {
      faults.errorFrameOnce = undefined;
      return refusal(error.body);
    }
    if (crash !== undefined && sent >= crash.afterFrames) {
      faults.closeWith1011Once = undefined;
      return [{ do: 'close', code: 1011 }];
    }
    const failed = this.#take('streamFailure', text, sent);
    if (failed !== undefined) return refusal(namedFailure(failed.failure, ledger).body);
    const closed = this.#take('close', text, sent);
    if (closed !== undefined) return [{ do: 'close', code: closed.code }];
    if (this.#take('cut', text, sent) !== undefined) return [cut];
    return this.#brokenOff('cutMidFrame', text, sent) ?? this.#brokenOff('reset', text, sent);
  }

  #brokenOff(name: 'cutMidFrame' | 'reset', text: string, sent: number): readonly Output[] | undefined {
    const fault = this.#take(name, text, sent);
    if (fault === undefined) return undefined;
    const frameBytes = edit.wireBytes(text);
    const bytes = frameBytes.subarray(0, fault.bytes ?? this.#scene.random.between(1, frameBytes.length - 1));
    return [{ do: 'break-off', bytes, reset: name === 'reset' }];
  }

  /** The frames that replace one frame: none, the frame, the frame twice, or two frames in the wrong order. */
  #sequence(text: string, sent: number): readonly string[] {
    if (this.#take('loseUpdates', text, sent) !== undefined) return [];
    const held = this.#held;
    if (held === undefined && this.#now('swapUpdates', text, sent) !== undefined) {
      this.#held = text;
      return [];
    }
    const twice =
      this.#take('duplicateUpdates', text, sent) !== undefined ||
      (this.#scene.faults.duplicateCheckpoints === true && edit.isCheckpoint(text));
    const frames = twice ? [text, text] : [text];
    if (held === undefined) return frames;
    this.#held = undefined;
    if (!edit.isUpdate(text)) return [held, ...frames];
    spend(this.#scene.faults, 'swapUpdates');
    return [...frames, held];
  }

  #encoded(frame: string, sent: number): Output {
    let text = frame;
    for (const [name, change] of edits) {
      if (this.#now(name, frame, sent) === undefined) continue;
      text = change(text, this.#scene.faults);
      spend(this.#scene.faults, name);
    }
    if (this.#take('binaryFrames', frame, sent) !== undefined) {
      return { do: 'send-bytes', parts: [Buffer.from(text)], binary: true };
    }
    if (this.#take('invalidUtf8', frame, sent) !== undefined) {
      return { do: 'send-bytes', parts: [edit.brokenUtf8(text)], binary: false };
    }
    if (this.#take('splitFrames', frame, sent) !== undefined) {
      return { do: 'send-bytes', parts: edit.halves(text), binary: false };
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
