/** Errors of requests that clients send to `/api`, and of filters. */
import { ExitCode } from './exit-code.ts';
import { kind, kindWithThrownRemedy } from './failure-kind.ts';

export const requestCodes = {
  FILTER_INVALID: kind(
    'fatal',
    ExitCode.usage,
    'a filter cannot be parsed, or compares a field with a value of another kind (see the message)',
    'correct the filter (docs/reference/filters.md)',
  ),
  FIELD_UNKNOWN: kindWithThrownRemedy(
    'fatal',
    ExitCode.usage,
    'a filter or an order names a field that the rows do not have; the error lists the nearest names',
  ),
} as const;
