/** Formats the result of `explain` for people. No line is wider than the terminal, and ids are shortened. Pure. */
import type { Explained, ExplainedCommand, ExplainedUpdate, Rows } from '../../store/reads/explain.ts';
import { aligned } from '../command-line/aligned.ts';
import { truncate, shortId, visible } from '../command-line/output.ts';
import type {
  Change,
  ChangedField,
  CommandOutcome,
  ContractLifeRow,
  Summary,
  Transfer,
  TreeRow,
} from './explained-rows.ts';

export interface LineFormat {
  /** Width of the terminal, in cells. */
  readonly width: number;
  readonly coloured: boolean;
  /** URL template with {trace_id}; if undefined, only the id is printed. */
  readonly traceUrlTemplate: string | undefined;
}

/** The lines in pieces. Each piece ends with a line break. */
export function* explainedLines(explained: Explained, format: LineFormat): Generator<string> {
  const formatter = new LineFormatter(format, explained.labels);
  if (explained.kind === 'update') yield* updateLines(explained, formatter, format);
  else if (explained.kind === 'contract') yield* lifeLines(explained.history, formatter);
  else yield* commandLines(explained, formatter, format);
}

type Tone = 'head' | 'made' | 'gone' | 'soft';
const codes: Readonly<Record<Tone, string>> = { head: '1', made: '32', gone: '31', soft: '90' };

/** Maximum number of lines of a list. */
const maxDetailLines = 4;

/** Formats lines. Each line is first truncated to the width and then colored, because color codes occupy no cells. */
class LineFormatter {
  readonly width: number;
  readonly #coloured: boolean;
  readonly #labels: ReadonlyMap<string, string>;

  constructor({ width, coloured }: LineFormat, labels: ReadonlyMap<string, string>) {
    this.width = width;
    this.#coloured = coloured;
    this.#labels = labels;
  }

  /** A shortened party id, followed by its label in quotes. The label is escaped, because it may contain quotes. */
  party(id: string): string {
    const label = this.#labels.get(id);
    return label === undefined ? shortId(id) : `${shortId(id)} ${JSON.stringify(label)}`;
  }

  parties(list: readonly string[] | null): string {
    return (list ?? []).map((id) => this.party(id)).join(', ');
  }

  /** A value on one line, with shortened party ids. */
  contents(value: unknown, emptyText = ''): string {
    if (value === null || value === undefined) return emptyText;
    if (typeof value === 'string') return /^[^\s:]+::\S+$/.test(value) ? this.party(value) : value;
    if (Array.isArray(value)) return `[${value.map((element) => this.contents(element, 'none')).join(', ')}]`;
    if (typeof value !== 'object') return JSON.stringify(value);
    const fields = Object.entries(value).flatMap(([name, fieldValue]) =>
      fieldValue === null ? [] : [`${name}: ${this.contents(fieldValue)}`],
    );
    return `{${fields.join(', ')}}`;
  }

  line(text: string, tone?: Tone): string {
    const fittedText = truncate(visible(text), this.width).trimEnd();
    return this.#coloured && tone !== undefined ? `\u001B[${codes[tone]}m${fittedText}\u001B[0m\n` : `${fittedText}\n`;
  }

  /** Formats a list in at most `maxDetailLines` lines. An empty list has no lines. */
  paragraph(text: string, indent: string): string {
    const lines: string[] = [];
    for (const word of visible(text).split(' ')) {
      const last = lines.at(-1);
      const joinedLine = last === undefined ? `${indent}${word}` : `${last} ${word}`;
      if (last !== undefined && joinedLine.length > this.width) lines.push(`${indent}  ${word}`);
      else lines.splice(-1, 1, joinedLine);
    }
    const visibleLines = lines.slice(0, maxDetailLines);
    const rest = lines.length > maxDetailLines ? [`${indent}  …`] : [];
    return text === '' ? '' : [...visibleLines, ...rest].map((line) => this.line(line, 'soft')).join('');
  }

  /** Names and values as aligned lines. Names with null values are omitted. */
  pairs(pairs: readonly (readonly [string, string | null | undefined])[]): string {
    const presentPairs = pairs.flatMap(([name, value]) =>
      value === null || value === undefined || value === '' ? [] : [[name, value]],
    );
    return aligned(presentPairs, { indent: 2 })
      .map((line) => this.line(line))
      .join('');
  }
}

function* updateLines(update: ExplainedUpdate, formatter: LineFormatter, format: LineFormat): Generator<string> {
  const summary = JSON.parse(update.summary) as Summary;
  yield formatter.line(`${summary.kind} ${summary.update_id ?? ''}`, 'head');
  yield formatter.pairs([
    ['offset', `${String(summary.offset)}${neighborOffsets(summary)}`],
    ['effective', time(summary.effective_at)],
    ['recorded', time(summary.record_time)],
    ['indexed', time(summary.indexed_at)],
    ['synchronizer', summary.synchronizer_id],
    ['by', formatter.parties(summary.acting_parties)],
    ['user', summary.user_id],
    ['act as', formatter.parties(summary.act_as)],
    ['command', summary.command_id],
    ['workflow', summary.workflow_id],
    ['cost', summary.paid_traffic_cost === null ? null : `${String(summary.paid_traffic_cost)} of traffic`],
    ['trace', traceOf(summary.trace_id, format.traceUrlTemplate)],
    ['events', String(summary.event_count)],
  ]);
  for (const row of update.events.rows) yield eventLines(JSON.parse(row) as TreeRow, formatter);
  yield omittedLine(update.events, 'events', formatter);
  yield* tokenLines(update, formatter);
}

function neighborOffsets({ previous_offset, next_offset }: Summary): string {
  const parts = [
    ...(previous_offset === null ? [] : [`after ${String(previous_offset)}`]),
    ...(next_offset === null ? ['the newest'] : [`before ${String(next_offset)}`]),
  ];
  return ` (${parts.join(', ')})`;
}

function traceOf(id: string | null, url: string | undefined): string | null {
  if (id === null || url === undefined) return id;
  return url.replaceAll('{trace_id}', encodeURIComponent(id));
}

/** Minimum width for the text of a line. It applies even if the node is deep in the tree. */
const minTextWidth = 40;

/** Indents by two cells per level of the tree while there is space, and prints the number of the remaining levels. */
function indentOf(depth: number, width: number): string {
  const drawnDepth = Math.min(depth, Math.max(0, Math.floor((width - minTextWidth) / 2)));
  return `${'  '.repeat(drawnDepth)}${depth > drawnDepth ? `+${String(depth - drawnDepth)} ` : ''}`;
}

const signs: Readonly<Record<string, readonly [sign: string, tone: Tone | undefined]>> = {
  created: ['+', 'made'],
  assigned: ['+', 'made'],
  archived: ['-', 'gone'],
  unassigned: ['-', 'gone'],
};

function eventLines(row: TreeRow, formatter: LineFormatter): string {
  const indent = `  ${indentOf(row.depth, formatter.width)}`;
  const [sign, tone] = signs[row.event_type] ?? ['>', undefined];
  const entityText = row.template_fqn === null ? '' : ` ${entityOf(row.template_fqn)}${version(row.package_version)}`;
  const contract = row.contract_id === null ? '' : ` ${shortId(row.contract_id)}`;
  const other = row.other_contract_id === null ? '' : shortId(row.other_contract_id);
  const otherText = other === '' ? '' : row.event_type === 'created' ? ` in place of ${other}` : ` became ${other}`;
  const choice = row.choice === null ? row.event_type : `${row.choice} on`;
  const head = formatter.line(`${indent}${sign} ${choice}${entityText}${contract}${otherText}`, tone);
  return head + detailsOf(row, formatter, `${indent}    `);
}

function detailsOf(row: TreeRow, formatter: LineFormatter, indent: string): string {
  const lines = [
    ...(row.acting_parties === null || row.acting_parties.length === 0
      ? []
      : [`by ${formatter.parties(row.acting_parties)}`]),
    ...(row.reason === null ? [] : [`reason: ${row.reason}`]),
    ...(row.redaction_id === null ? [] : [`contents removed by redaction ${row.redaction_id}`]),
    ...changedLines(row.changed, formatter),
    ...(row.event_type === 'archived' && row.changed === null && row.other_contract_id !== null && row.before !== null
      ? ['as it was']
      : []),
    ...(row.event_type === 'created' && row.other_contract_id === null ? [formatter.contents(row.after)] : []),
    ...(row.event_type === 'archived' && row.other_contract_id === null ? [formatter.contents(row.before)] : []),
  ];
  return lines.map((text) => formatter.paragraph(text, indent)).join('');
}

function changedLines(changedFields: readonly ChangedField[] | null, formatter: LineFormatter): readonly string[] {
  return (changedFields ?? []).map(
    ({ field, before, after }) =>
      `${field.join('.')}: ${formatter.contents(before, 'none')} became ${formatter.contents(after, 'none')}`,
  );
}

function entityOf(fqn: string): string {
  return fqn.slice(fqn.lastIndexOf(':') + 1);
}

function version(text: string | null): string {
  return text === null ? '' : ` ${text}`;
}

function omittedLine({ omitted: count }: Rows, itemName: string, formatter: LineFormatter): string {
  return count === 0 ? '' : formatter.line(`  ${String(count)} more ${itemName} omitted: raise --max-events`, 'head');
}

function* tokenLines({ transfers, changes }: ExplainedUpdate, formatter: LineFormatter): Generator<string> {
  if (transfers.rows.length + changes.rows.length === 0) return;
  yield formatter.line('tokens', 'head');
  for (const { kind, sender, receiver, amount, instrument_id: instrument, reason } of transfers.rows.map(
    (row) => JSON.parse(row) as Transfer,
  )) {
    const partyPath = [sender, receiver].map((party) => (party === null ? '-' : formatter.party(party))).join(' to ');
    yield formatter.line(`  ${kind} of ${amount} ${instrument}: ${partyPath}${reason === null ? '' : ` (${reason})`}`);
  }
  yield omittedLine(transfers, 'transfers', formatter);
  for (const { owner, kind, net, instrument_id: instrument } of changes.rows.map((row) => JSON.parse(row) as Change)) {
    const signedNet = net.startsWith('-') ? net : `+${net}`;
    yield formatter.line(
      `  ${owner === null ? '-' : formatter.party(owner)}  ${signedNet} ${instrument}  ${kind}`,
      'soft',
    );
  }
  yield omittedLine(changes, 'accounts', formatter);
}

function* lifeLines(lifeRows: Rows, formatter: LineFormatter): Generator<string> {
  const rows = lifeRows.rows.map((row) => JSON.parse(row) as ContractLifeRow);
  const [first] = rows;
  yield formatter.line(`contract of ${first?.template_fqn ?? 'an unknown template'}`, 'head');
  for (const row of rows) {
    const [, tone] = signs[row.event_type] ?? ['', undefined];
    const timeText = time(row.effective_at ?? row.record_time) ?? '';
    const subject = row.choice ?? (row.interface_fqn === null ? '' : entityOf(row.interface_fqn));
    const eventText = `${row.event_type} ${subject}${version(row.package_version)}`;
    yield formatter.line(`  ${String(row.offset)}  ${timeText}  ${eventText}`, tone);
    yield lifeDetails(row, formatter);
  }
  yield omittedLine(lifeRows, 'rows', formatter);
}

function lifeDetails(row: ContractLifeRow, formatter: LineFormatter): string {
  const other = row.other_contract_id === null ? '' : shortId(row.other_contract_id);
  const lines = [
    ...(row.acting_parties === null ? [] : [`by ${formatter.parties(row.acting_parties)}`]),
    ...(row.reason === null ? [] : [`reason: ${row.reason}`]),
    ...(row.target === null ? [] : [`from ${shortId(row.synchronizer_id ?? '')} to ${shortId(row.target)}`]),
    ...(row.event_type === 'assigned' ? [`on ${shortId(row.synchronizer_id ?? '')}`] : []),
    ...(row.event_type === 'unhosted' ? ['its parties left the participant: its later state is unknown'] : []),
    ...(row.event_type === 'ended' ? ['by an update that is not stored, see explore.coverage'] : []),
    ...(row.event_type === 'omitted' ? ['exercises up to this offset: raise --max-events'] : []),
    ...(row.redaction_id === null ? [] : [`contents removed by redaction ${row.redaction_id}`]),
    ...(other === '' ? [] : [row.event_type === 'created' ? `in place of ${other}` : `became ${other}`]),
    formatter.contents(row.contents),
  ];
  return lines.map((text) => formatter.paragraph(text, '        ')).join('');
}

function* commandLines(
  { outcomes, update }: ExplainedCommand,
  formatter: LineFormatter,
  format: LineFormat,
): Generator<string> {
  yield formatter.line('command', 'head');
  for (const row of outcomes.rows) yield outcomeLines(JSON.parse(row) as CommandOutcome, formatter, format);
  yield omittedLine(outcomes, 'outcomes', formatter);
  if (update !== null) yield* updateLines(update, formatter, format);
}

function outcomeLines(outcome: CommandOutcome, formatter: LineFormatter, { traceUrlTemplate }: LineFormat): string {
  const { succeeded: isAccepted, offset, record_time: recordTime, update_id: id } = outcome;
  const outcomeText = isAccepted
    ? `accepted ${id === null ? '' : `as update ${shortId(id)}`}`
    : `rejected ${outcome.error_code ?? ''}`;
  const head = formatter.line(
    `  ${String(offset)}  ${time(recordTime) ?? ''}  ${outcomeText}`,
    isAccepted ? 'made' : 'gone',
  );
  const { choice, template_fqn: template, contract_id: contract } = outcome;
  const subjects = [
    choice,
    template === null ? null : entityOf(template),
    contract === null ? null : shortId(contract),
  ];
  const lines = [
    outcome.reason === null ? '' : `reason: ${outcome.reason}`,
    isAccepted ? '' : statusText(outcome),
    outcome.redaction_id === null ? '' : `contents removed by redaction ${outcome.redaction_id}`,
    subjects.every((part) => part === null) ? '' : `about: ${subjects.filter((part) => part !== null).join(' ')}`,
    `${outcome.user_id === null ? '' : `by user ${outcome.user_id} `}${outcome.act_as === null ? '' : `as ${formatter.parties(outcome.act_as)}`}`.trim(),
    outcome.submission_id === null ? '' : `submission ${outcome.submission_id}`,
    deduplicationOf(outcome),
    outcome.paid_traffic_cost === null ? '' : `cost ${String(outcome.paid_traffic_cost)} of traffic`,
    outcome.trace_id === null ? '' : `trace ${traceOf(outcome.trace_id, traceUrlTemplate) ?? ''}`,
    isAccepted ? '' : retryAdvice(outcome),
  ];
  return head + lines.map((text) => formatter.paragraph(text, '        ')).join('');
}

function statusText({ error_category: category, status_code: status }: CommandOutcome): string {
  return category === null
    ? `gRPC code ${String(status)}`
    : `category ${String(category)}, gRPC code ${String(status)}`;
}

/** Formats a time. Postgres prints UTC as an offset. */
function time(timestamp: string | null): string | null {
  return timestamp?.replace(/\+00:00$/, 'Z') ?? null;
}

function deduplicationOf({ deduplication_offset: offset, deduplication_period: period }: CommandOutcome): string {
  if (offset === null && period === null) return '';
  return `searched for the same change ${offset === null ? `for ${period ?? ''} back` : `after offset ${String(offset)}`}`;
}

function retryAdvice({ accepted_offset: acceptedOffset, is_retryable: isRetryable }: CommandOutcome): string {
  if (acceptedOffset !== null)
    return `nevertheless accepted at offset ${String(acceptedOffset)}: explain ${String(acceptedOffset)}`;
  return isRetryable === true ? 'may be sent again as it is' : 'will be rejected again as it is';
}
