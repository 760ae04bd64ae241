/** Failures, with a code and a remedy. Their fields are sent to agents: they contain no token. */

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  /** Further fields that the indexer returned, such as the nearest names. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export class McpError extends Error {
  override readonly name = 'McpError';
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

/** The failure behind any error. The messages of unexpected errors may contain contents, so they are left out. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof McpError) return thrown.failure;
  const kind = thrown instanceof Error ? thrown.name : typeof thrown;
  return {
    code: 'MCP_UNEXPECTED',
    message: `the MCP server failed unexpectedly (${kind})`,
    remedy: 'call the tool again; if it fails again, report it as a bug',
  };
}

export function configurationError(message: string, remedy: string): McpError {
  return new McpError({ code: 'CONFIGURATION_INVALID', message, remedy });
}
