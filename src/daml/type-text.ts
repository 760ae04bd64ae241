/** Types as people write them, for descriptions. */
import type { BuiltinName, DamlType } from './package-model.ts';
import { qualifiedName } from './package-lookup.ts';

const longest = 200;

const builtinTexts: Readonly<Record<BuiltinName, string>> = {
  unit: '()',
  bool: 'Bool',
  int64: 'Int',
  text: 'Text',
  party: 'Party',
  date: 'Date',
  timestamp: 'Time',
  any: 'Any',
};

const containerTexts = { optional: 'Optional', textmap: 'TextMap', contract_id: 'ContractId' } as const;

/**
 * The type in Daml's notation, e.g. `Optional (TextMap Int)`; types of packages with their module, without the package.
 * What is longer than 200 characters ends with `…`.
 */
export function typeText(type: DamlType): string {
  const pieces: string[] = [];
  let length = 0;
  // Arguments may be shared, so a type can be far longer than the memory it takes: nothing is written past the end.
  const write = (piece: string): boolean => {
    if (length <= longest) pieces.push(piece);
    length += piece.length;
    return length <= longest;
  };
  writeType(type, write);
  return length > longest ? `${pieces.join('').slice(0, longest)}…` : pieces.join('');
}

/** Takes the next piece; false when no more is wanted. */
type Write = (piece: string) => boolean;

function writeType(type: DamlType, write: Write): boolean {
  if (type.kind === 'builtin') return write(builtinTexts[type.name]);
  if (type.kind === 'numeric') return write(type.scale === undefined ? 'Numeric' : `Numeric ${type.scale}`);
  if (type.kind === 'list') return write('[') && writeType(type.of, write) && write(']');
  if (type.kind === 'genmap') return write('Map') && writeArguments([type.key, type.of], write);
  if (type.kind === 'named') return write(qualifiedName(type.name)) && writeArguments(type.arguments, write);
  if (type.kind === 'variable') return write(type.name);
  if (type.kind === 'opaque') return write('?');
  return write(containerTexts[type.kind]) && writeArguments([type.of], write);
}

function writeArguments(types: readonly DamlType[], write: Write): boolean {
  return types.every((type) =>
    isApplied(type) ? write(' (') && writeType(type, write) && write(')') : write(' ') && writeType(type, write),
  );
}

function isApplied(type: DamlType): boolean {
  if (type.kind === 'named') return type.arguments.length > 0;
  if (type.kind === 'numeric') return type.scale !== undefined;
  return ['optional', 'textmap', 'genmap', 'contract_id'].includes(type.kind);
}
