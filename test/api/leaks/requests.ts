/** Requests to every route of the route table. A new route or parameter is covered by the kinds of its parameters. */
import type { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import type { ApiParameter, ApiParameterKind } from '../../../src/model/push/read-api.ts';
import type { StoredRoute } from '../../../src/store/api/route.ts';
import { parties } from '../../security/privacy-history.ts';
import { here } from '../../support/frames.ts';
import type { VisibleWords } from './visible-words.ts';

export interface LeakRequest {
  readonly route: StoredRoute;
  readonly path: string;
  readonly inPath: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** SQL of the parameter `where` over the rows `r`. */
  readonly condition?: string;
}

/** Source of values of parameters: words that the reader may see, and others. */
export class ParameterValues {
  readonly #random: Random;
  readonly #words: VisibleWords;
  readonly #lastOffset: number;

  constructor(random: Random, words: VisibleWords, lastOffset: number) {
    [this.#random, this.#words, this.#lastOffset] = [random, words, lastOffset];
  }

  pick<T>(list: readonly T[]): T {
    return list[this.#random.between(0, list.length - 1)] as T;
  }

  /** A word of the history that begins with this text, whether the reader may see it or not. */
  #word(start: string): string {
    return this.pick(this.#words.startingWith(start));
  }

  of({ name, kind, values = [], range }: ApiParameter): string {
    const byKind: Readonly<Partial<Record<ApiParameterKind, () => string>>> = {
      party: () => this.#party(),
      name: () => this.pick(['iou:Main.Iou:Iou', 'Iou', 'Iuo', 'Holding', 'TransferInstruction', 'ValidatorLicense']),
      offset: () => this.#offset(),
      position: () => this.pick([this.#offset(), this.#offset(), '2026-08-14T11:40:00Z']),
      integer: () => String(range?.[1] ?? 1),
      boolean: () => this.pick(['true', 'false']),
      choice: () => this.pick(values),
    };
    return byKind[kind]?.() ?? this.#text(name);
  }

  #offset(): string {
    return String(this.#random.between(15, this.#lastOffset + 2));
  }

  /** A party of all histories, a party of one contract, or a name that is similar to such a party. */
  #party(): string {
    const own = this.#word('own-');
    return this.pick([...parties, own, own, own.replace('::1220', '::122')]);
  }

  #text(name: string): string {
    const texts: Readonly<Record<string, () => string>> = {
      contract_id: () => this.#word('00c'),
      update_id: () => this.#word('1220'),
      command_id: () => this.#word('command '),
      workflow_id: () => this.#word('workflow '),
      user_id: () => this.#word('user '),
      key_hash: () => this.#word('aGFz'),
      instrument_id: () => this.#word('instrument '),
      member_id: () => this.#word('member '),
      id: () => this.pick([this.#word('00c'), this.#word('1220'), this.#word('command '), this.#offset()]),
      synchronizer_id: () => here,
      choice: () => this.pick(['Transfer', 'ValidatorLicense_ReportActive']),
      error_code: () => 'CONTRACT_NOT_FOUND',
      contains: () => this.pick(['own', 'an', 'Iou']),
    };
    return texts[name]?.() ?? this.#party();
  }
}

const unused = new Set(['cursor', 'at_least_offset', 'timeout', 'limit', 'where', 'sort']);

/** A request with the required parameters alone, and one with an optional parameter, an order or a filter. */
export function requestsTo(route: StoredRoute, values: ParameterValues): readonly LeakRequest[] {
  const optional = route.parameters.filter(
    ({ name, inPath, required }) => inPath !== true && required !== true && !unused.has(name),
  );
  const sortable = Object.entries(route.columns).filter(([, kind]) => kind !== 'json' && !kind.endsWith('s'));
  const texts = sortable.filter(([, kind]) => kind === 'text');
  const variants = [
    ...optional.map((parameter) => () => requestTo(route, values, { [parameter.name]: values.of(parameter) })),
    ...(sortable.length === 0 ? [] : [() => requestTo(route, values, orderOf(values, sortable))]),
    ...(texts.length === 0 ? [] : [() => filteredRequest(route, values, values.pick(texts)[0])]),
  ];
  return [requestTo(route, values, {}), ...(variants.length === 0 ? [] : [values.pick(variants)()])];
}

function orderOf(values: ParameterValues, columns: readonly (readonly [string, string])[]): { readonly sort: string } {
  return { sort: `${values.pick(['', '-'])}${values.pick(columns)[0]}` };
}

function filteredRequest(route: StoredRoute, values: ParameterValues, column: string): LeakRequest {
  return { ...requestTo(route, values, { where: `${column} != 'x'` }), condition: `r."${column}" <> 'x'` };
}

export function requestTo(
  route: StoredRoute,
  values: ParameterValues,
  given: Readonly<Record<string, string>>,
): LeakRequest {
  const inPath: Record<string, string> = {};
  const query: Record<string, string> = { ...given };
  let path = route.path;
  for (const parameter of route.parameters) {
    const { name } = parameter;
    if (parameter.inPath === true) {
      inPath[name] = given[name] ?? values.of(parameter);
      path = path.replace(`{${name}}`, encodeURIComponent(inPath[name]));
      delete query[name];
    } else if (parameter.required === true) query[name] ??= values.of(parameter);
    // Some lists are read in one page, others in many.
    else if (name === 'limit' && route.answers === 'rows') query[name] = values.pick(['15', '60', '1000']);
  }
  return { route, path, inPath, query };
}
