/** Options of tokens of the participant. */
import { boolean, indexer, optional, patternType, providerUrl, text, withDefault } from './option.ts';

export const nodeTokenOptions = {
  nodeTokens: withDefault(
    indexer(
      'INDEXER_NODE_TOKENS',
      'Accept tokens of the participant at `/changes`, `/query` and `/status`: their users read what the participant lets them read.',
    ),
    boolean,
    'false',
  ),
  nodeTokensIssuer: optional(
    indexer('INDEXER_NODE_TOKENS_ISSUER', 'Issuer (`iss`) of these tokens, exactly as the tokens name it.'),
    text,
  ),
  nodeTokensAudience: optional(
    indexer('INDEXER_NODE_TOKENS_AUDIENCE', 'Audience (`aud`) of these tokens, which the participant expects too.'),
    text,
  ),
  nodeTokensJwksUrl: optional(
    indexer('INDEXER_NODE_TOKENS_JWKS_URL', 'Address of the public keys of the issuer, a JSON Web Key Set.'),
    providerUrl,
  ),
  nodeTokensRole: optional(
    indexer('INDEXER_NODE_TOKENS_ROLE', 'Role of `grant-reader --node-tokens`, with which their users read.'),
    patternType('role', /^(?!pg_)[A-Za-z_][A-Za-z0-9_@.-]{0,62}$/, 'the name of a role'),
  ),
  nodeTokensPassword: optional(
    indexer('INDEXER_NODE_TOKENS_PASSWORD', 'Password of that role.', { secret: 'value', fileVariant: true }),
    text,
  ),
} as const;
