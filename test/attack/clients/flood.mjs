// Opens many connections to one local port and sends a text on each. It runs in a separate process, so that the suite
// can monitor the indexer at the same time. Its argument is JSON {port, connections, text, repeat, afterMs, read, drip,
// holdMs}. At the end it prints one line of JSON with the numbers of connections opened, connections closed by the
// server, and responses begun.
import { connect } from 'node:net';

const {
  port,
  connections,
  text = '',
  repeat = 1,
  afterMs = 0,
  read = true,
  drip = '',
  holdMs,
} = JSON.parse(process.argv[2] ?? '{}');
const seen = { opened: 0, closed: 0, answers: 0, refused: 0 };

for (let nth = 0; nth < connections; nth += 1) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => (seen.refused += 1)).on('close', () => (seen.closed += 1));
  socket.on('connect', () => {
    seen.opened += 1;
    const send = () => socket.write(text.replaceAll('{n}', String(nth + 1)).repeat(repeat), 'latin1');
    if (afterMs === 0) send();
    else setTimeout(send, afterMs);
    if (drip !== '') setInterval(() => socket.destroyed || socket.write(drip), 200);
  });
  if (read) socket.on('data', (part) => (seen.answers += part.toString('latin1').split('HTTP/1.1 ').length - 1));
  else socket.pause();
}

setTimeout(() => {
  process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0));
}, holdMs);
