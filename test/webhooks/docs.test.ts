/**
 * The receiver in docs/how-to/integrate/webhooks.md accepts signatures of the indexer, and rejects all others. The
 * tests run the code of the page unchanged.
 */
import { expect, it } from 'vitest';
import { messageId, newSecret, signedHeaders } from '../../src/webhooks/signature.ts';
import { exampleWith } from './example.ts';

it('the documented receiver rejects a signature with another body, id, key or time', async () => {
  const secret = newSecret();
  const { received: receiveExample } = await exampleWith(secret);
  const id = messageId('hook', 1043, 2, '1220ab');
  const body = '{"type":"created","data":{"offset":1043,"contract_id":"00ab","payload":{"name":"Zoë"}}}';
  const headers = signedHeaders([secret], id, body, Date.now());
  expect(receiveExample(body, headers)).toEqual({ id, type: 'created', offset: 1043, contract: '00ab' });
  expect(() => receiveExample(body.replace('1043', '1044'), headers)).toThrow(/signature/);
  expect(() => receiveExample(body, { ...headers, 'webhook-id': messageId('hook', 1043, 3, '1220ab') })).toThrow(
    /signature/,
  );
  expect(() => receiveExample(body, signedHeaders([newSecret()], id, body, Date.now()))).toThrow(/signature/);
  expect(() => receiveExample(body, signedHeaders([secret], id, body, Date.now() - 600_000))).toThrow(/old/);
});

it('the documented receiver accepts an event that is signed with its secret and another one', async () => {
  const [secret, otherSecret] = [newSecret(), newSecret()];
  const { received: receiveExample } = await exampleWith(secret);
  const body = '{"type":"created","data":{"offset":1}}';
  for (const secrets of [
    [secret, otherSecret],
    [otherSecret, secret],
  ]) {
    expect(receiveExample(body, signedHeaders(secrets, 'msg_1', body, Date.now()))).toMatchObject({ offset: 1 });
  }
});

it('messageId() is stable and differs by webhook, position and history', () => {
  const ids = [
    messageId('hook', 1, 2, 'u'),
    messageId('other', 1, 2, 'u'),
    messageId('hook', 12, 0, 'u'),
    messageId('hook', 1, 20, 'u'),
    messageId('hook', 1, 2, 'v'),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(messageId('hook', 1, 2, 'u')).toBe(ids[0]);
});
