/**
 * A connection reset leaves no open handle, whenever it happens. The test starts a process, which must then exit
 * without being stopped.
 */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const module = new URL('../../dist/faults/connection.js', import.meta.url).href;

/** Runs a process that resets a connected socket. `socketState` is code that runs immediately before the reset. */
function probeSocket(socketState: string): { readonly status: number | null; readonly stdout: string } {
  const script = `
    import { once } from 'node:events';
    import { connect, createServer } from 'node:net';
    const { resetNow } = await import(${JSON.stringify(module)});
    const server = createServer((socket) => socket.on('error', () => {}).pause());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const socket = connect(server.address().port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', ({ code }) => console.log(code)).on('close', () => console.log('closed'));
    ${socketState};
    resetNow(socket);
    server.close().unref();`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 10_000 });
}

it.each([
  ['open', ''],
  ['being ended', 'socket.end()'],
  ['being ended, with many bytes still to be written', 'socket.end(Buffer.alloc(50_000_000))'],
  ['gone', 'socket.destroy()'],
])('a socket that is %s is released', (_, socketState) => {
  expect(probeSocket(socketState)).toMatchObject({ status: 0, stdout: 'closed\n' });
});
