// Prints the given number of free ports on 127.0.0.1, one per line. They are below the ephemeral ports of Linux (32768
// and up), so that no process gets one by chance before it is used.
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

/** A port and the server that holds it; undefined if another process uses the port. */
function hold(port) {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(undefined))
      .listen(port, '127.0.0.1', () => resolve(server));
  });
}

const wanted = Number(process.argv[2] ?? 1);
const servers = [];
while (servers.length < wanted) {
  const server = await hold(randomInt(10_000, 32_768));
  if (server !== undefined) servers.push(server);
}
for (const server of servers) {
  console.log(server.address().port);
  server.close();
}
