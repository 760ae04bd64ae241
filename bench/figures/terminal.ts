/** Progress on stderr: on a terminal one line that is updated, otherwise one line per step. */

let text = '';
let startMs = performance.now();

/** Reports the current step; an empty text removes the line. */
export function printStatus(now: string): void {
  if (!process.stderr.isTTY) {
    if (now !== '' && now !== text) process.stderr.write(`bench: ${now}\n`);
    text = now;
    return;
  }
  if (now !== text) startMs = performance.now();
  text = now;
  draw();
}

function draw(): void {
  const seconds = Math.round((performance.now() - startMs) / 1000);
  process.stderr.write(
    `\r\u001B[2K${text === '' ? '' : `bench: ${text}${seconds < 2 ? '' : ` ${String(seconds)} s`}`}`,
  );
}

if (process.stderr.isTTY) setInterval(() => (text === '' ? undefined : draw()), 1_000).unref();
