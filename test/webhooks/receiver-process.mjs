/**
 * A receiver of webhooks as a separate process, so that tests can kill it. It writes each event to the file before it
 * responds with 204. `node receiver-process.mjs PORT FILE SECRET` prints a line when it listens.
 */
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const [, , port, file, secret] = process.argv;
const taken = openSync(file, 'a');
const webhook = new Webhook(secret);

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { type, data } = webhook.verify(Buffer.concat(chunks).toString(), request.headers);
    const { offset, node_id: node, contract_id: contract } = data;
    const line = { id: request.headers['webhook-id'], type, place: `${offset}-${node}`, contract: contract ?? '' };
    writeSync(taken, `${JSON.stringify(line)}\n`);
    response.writeHead(204).end();
  });
});
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\n'));
