/** Reads the options of tokens of the participant, and checks that they are complete. */
import { isPlaintextRemote } from './loopback.ts';
import { nodeTokenOptions } from './node-token-options.ts';
import type { Option } from './option.ts';
import type { OptionSource } from './option-sources.ts';

/** The options, which are all set if tokens of the participant are accepted. */
export interface NodeTokenConfig {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
  readonly role: string;
  readonly password: string;
}

/** Undefined if these tokens are not accepted, or if options are missing, which is reported as a problem. */
export function nodeTokenConfig(source: OptionSource, insecure: boolean): NodeTokenConfig | undefined {
  const { nodeTokens, ...needed } = nodeTokenOptions;
  if (!source.read(nodeTokens)) return undefined;
  const required = (option: Option<string | undefined>): string => {
    const value = source.read(option) ?? '';
    const orFile = option.fileVariant ? `it or ${option.env}_FILE` : 'it';
    if (value === '') source.refuse(`${option.env}: expected ${orFile} with INDEXER_NODE_TOKENS=true, got nothing`);
    return value;
  };
  const config = {
    issuer: required(needed.nodeTokensIssuer),
    audience: required(needed.nodeTokensAudience),
    jwksUrl: required(needed.nodeTokensJwksUrl),
    role: required(needed.nodeTokensRole),
    password: required(needed.nodeTokensPassword),
  };
  if (config.jwksUrl !== '' && !insecure && isPlaintextRemote(config.jwksUrl)) {
    const { host } = new URL(config.jwksUrl);
    source.refuse(
      `INDEXER_NODE_TOKENS_JWKS_URL: expected https, because anyone between here and ${host} could send other keys`,
    );
  }
  return config;
}
