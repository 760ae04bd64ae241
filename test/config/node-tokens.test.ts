/** Options of tokens of the participant, which are all needed. */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';

describe('the options of tokens of the participant', () => {
  const complete = {
    INDEXER_NODE_TOKENS: 'true',
    INDEXER_NODE_TOKENS_ISSUER: 'https://issuer.example',
    INDEXER_NODE_TOKENS_AUDIENCE: 'participant',
    INDEXER_NODE_TOKENS_JWKS_URL: 'https://issuer.example/keys',
    INDEXER_NODE_TOKENS_ROLE: 'node_reader',
    INDEXER_NODE_TOKENS_PASSWORD: 'hunter2',
  };

  it('are all needed, and problems are reported together', () => {
    expect(loadConfig(complete).indexer.nodeAccess).toEqual({
      issuer: 'https://issuer.example',
      audience: 'participant',
      jwksUrl: 'https://issuer.example/keys',
      role: 'node_reader',
      password: 'hunter2',
    });
    for (const name of Object.keys(complete).slice(1)) {
      expect(() => loadConfig({ INDEXER_NODE_TOKENS: 'true' })).toThrow(`${name}: expected`);
    }
    expect(loadConfig({ ...complete, INDEXER_NODE_TOKENS: 'false' }).indexer.nodeAccess).toBeUndefined();
  });

  it('refuse keys over plain http from another machine', () => {
    const env = { ...complete, INDEXER_NODE_TOKENS_JWKS_URL: 'http://issuer.example/keys' };
    expect(() => loadConfig(env)).toThrow('INDEXER_NODE_TOKENS_JWKS_URL: expected https');
    expect(loadConfig({ ...env, LEDGER_INSECURE: 'true' }).indexer.nodeAccess?.jwksUrl).toBe(
      env.INDEXER_NODE_TOKENS_JWKS_URL,
    );
  });
});
