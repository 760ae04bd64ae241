// Prints so many ports of 127.0.0.1 on which nobody listens, one a line.
import { createServer } from 'node:net';

const servers = await Promise.all(
  Array.from(
    { length: Number(process.argv[2] ?? 1) },
    () =>
      new Promise((resolve) => {
        const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
      }),
  ),
);
for (const server of servers) {
  console.log(server.address().port);
  server.close();
}
