/** How values of the server become values here; differs from the driver's own way for int8, which must stay exact. */
import { types } from 'pg';
import type { CustomTypesConfig } from 'pg';

const int8 = 20;
const int8Array = 1016;
/** The driver's table without its closed list of type numbers: the server sends types that the list does not know. */
const driverParser = types.getTypeParser as (oid: number, format?: 'text' | 'binary') => (text: string) => unknown;

/** int8 as a number while that is exact, else as a bigint; everything else as the driver does it. */
function parserOf(oid: number, format?: 'text' | 'binary'): unknown {
  if (format !== 'binary' && oid === int8) return parseInt8;
  if (format !== 'binary' && oid === int8Array) return parseInt8Array;
  return driverParser(oid, format);
}

/** int8 exactly; everything else as the driver does it. Changes nothing for other users of the driver. */
export const exactTypes: CustomTypesConfig = { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };

function parseInt8(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

function parseInt8Array(text: string): unknown {
  const entries = driverParser(int8Array)(text) as readonly (string | null)[];
  return entries.map((entry) => (entry === null ? null : parseInt8(entry)));
}
