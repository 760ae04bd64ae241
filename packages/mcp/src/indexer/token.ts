/** Tokens of callers. */
import { constants, open } from 'node:fs/promises';
import { configurationError } from './mcp-error.ts';

/** Returns the token of the caller for one request. */
export type TokenSource = () => Promise<string>;

const minTokenCharacters = 20;
const maxTokenCharacters = 8_192;

/** Whether a text can be a token: visible ASCII characters, which a header can contain. */
export function isToken(text: string): boolean {
  return text.length >= minTokenCharacters && text.length <= maxTokenCharacters && /^[\x21-\x7e]+$/.test(text);
}

/**
 * Reads the token from its file for each request, so that a new token is used without a restart.
 * @throws McpError CONFIGURATION_INVALID
 */
export function tokenOfFile(path: string): TokenSource {
  return async () => {
    const token = (await readStart(path)).trim();
    if (isToken(token)) return token;
    throw configurationError(
      `the file of INDEXER_TOKEN_FILE, ${path}, does not contain one token`,
      'write the token, as printed by `ledger-indexer reader-token create`, to the file',
    );
  };
}

/** Reads no more than a token can have, so that a wrong path cannot exhaust memory. */
async function readStart(path: string): Promise<string> {
  try {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) throw new TypeError('not a regular file');
    const buffer = Buffer.alloc(maxTokenCharacters + 2);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } catch (thrown) {
    const reason = (thrown as NodeJS.ErrnoException).code ?? 'not a regular file';
    throw configurationError(
      `cannot read the file of INDEXER_TOKEN_FILE, ${path} (${reason})`,
      'set INDEXER_TOKEN_FILE to a file that the user of the MCP server can read',
    );
  }
}
