/** Labels of parties in a result, as hints of their cells. They are display only: the rows stay as the statement returned them. */
import { byId, setHint } from '../elements.js';
import { post } from './questions.js';

/** @typedef {import('ledger-indexer/page').ConsoleRows} ConsoleRows */

/** Without quotation marks, so that a party id can be a literal of a statement. */
const partyId = /^[A-Za-z0-9:_ -]{1,253}::[A-Za-z0-9]{1,253}$/;
/** A request may have 64 KiB. */
const mostParties = 200;
const longestPartyHint = 4_000;

let exploreName = 'explore';

/** Call it once, before the first result. @param {string} explore name of the schema `explore` */
export function prepareLabels(explore) {
  exploreName = explore;
}

/** The party ids in a value, which may be a list. @param {string | null} value */
function partiesIn(value) {
  return value === null ? [] : value.split(/[{}[\],"]/).filter((part) => partyId.test(part));
}

/**
 * Requests the labels of the parties in the rows that are displayed.
 * @param {ConsoleRows} answer
 * @param {AbortSignal} signal
 */
export async function showLabels({ rows }, signal) {
  const parties = [...new Set(rows.flatMap((row) => row.flatMap(partiesIn)))].slice(0, mostParties);
  if (parties.length === 0) return;
  const body = /** @type {HTMLTableSectionElement} */ (byId('rows'));
  const firstLine = body.rows[0];
  const schema = `"${exploreName.replaceAll('"', '""')}"`;
  const list = parties.map((party) => `'${party}'`).join(', ');
  const statement = `select party, label from ${schema}.party_labels where party in (${list})`;
  /** @type {import('./questions.js').Posted<ConsoleRows>} */
  const { found } = await post('query', { statement }, signal);
  // Without labels, the rows are complete. Meanwhile, another result may be displayed.
  if (found === undefined || signal.aborted || body.rows[0] !== firstLine) return;
  const labels = new Map(found.rows.map(([party, label]) => [party ?? '', label ?? '']));
  for (const [line, row] of rows.entries()) {
    for (const [at, value] of row.entries()) {
      const named = partiesIn(value).flatMap((party) =>
        labels.has(party) ? [`"${labels.get(party)}" is ${party}`] : [],
      );
      const cell = body.rows[line]?.cells[at];
      if (named.length > 0 && cell !== undefined) setHint(cell, named.join('\n').slice(0, longestPartyHint));
    }
  }
}
