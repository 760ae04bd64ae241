/** Errors of requests that clients send to `/api`, of filters, and of selections of events. */
import { ExitCode } from './exit-code.ts';
import { kind, kindWithThrownRemedy } from './failure-kind.ts';

export const requestCodes = {
  FILTER_INVALID: kind(
    'fatal',
    ExitCode.usage,
    'a filter cannot be parsed, or compares a field with a value of another kind (see the message)',
    'correct the filter (docs/reference/filters.md)',
  ),
  NAME_UNKNOWN: kindWithThrownRemedy(
    'fatal',
    ExitCode.usage,
    'a request or a selection of events names a template, interface, choice, party or id that is not known; the error lists the nearest names',
  ),
  NAME_AMBIGUOUS: kind(
    'fatal',
    ExitCode.usage,
    'api: several templates have this name',
    'write the name as package:Module:Entity',
  ),
  OFFSET_UNKNOWN: kind(
    'fatal',
    ExitCode.usage,
    'api: the state at this offset or time is not known, because history begins later, was pruned, or has a gap',
    'choose an offset of a complete range of /api/coverage',
  ),
  ANSWER_TOO_LARGE: kindWithThrownRemedy(
    'fatal',
    ExitCode.usage,
    'api: the answer has more rows or bytes than one answer may have',
  ),
  FIELD_UNKNOWN: kindWithThrownRemedy(
    'fatal',
    ExitCode.usage,
    'a filter or an order names a field that the rows do not have; the error lists the nearest names',
  ),
} as const;
