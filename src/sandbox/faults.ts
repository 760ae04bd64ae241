/**
 * Scripted misbehaviour. The object is read before every frame, so a test or a demo switches faults on and off while
 * streams run. Faults marked "once" remove themselves when they happen.
 */
import type { JsonObject } from './json.ts';

export interface Faults {
  /** Cut the TCP connection, without a close frame, after a random number of frames in [min, max]; every connection. */
  cutEveryFrames?: { readonly min: number; readonly max: number } | undefined;
  /** Once: send this body as an error frame after that many frames of a connection (default 0), then close with 1000. */
  errorFrameOnce?: { readonly body: JsonObject; readonly afterFrames?: number } | undefined;
  /** Send nothing more after that many frames of a connection, for as long as this is set. */
  stall?: { readonly afterFrames: number } | undefined;
  /** Once: close with 1011 after that many frames of a connection. */
  closeWith1011Once?: { readonly afterFrames: number } | undefined;
  /** Send every OffsetCheckpoint twice. */
  duplicateCheckpoints?: boolean | undefined;
  /** Accept sockets and requests and never answer. */
  neverAnswer?: boolean | undefined;
}
