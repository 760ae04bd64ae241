/**
 * Statements that make a contract live or ended without the indexer. They move its row between the tables live and
 * ended.
 */

const sharedColumnsSql = '"offset", unhosted_since, node_id, template_pk, synchronizer_pk, parties_pk, contract_id';

/** Ends live contracts at the offset `at` (SQL over a row of `live`), as if by an update that is not stored. */
export function endedSql(condition: string, at = '"offset"'): string {
  return `with gone as (delete from live where ${condition} returning *)
    insert into ended (${sharedColumnsSql}, ended_offset, class, ended_by)
    select ${sharedColumnsSql}, ${at}, lifetime_class("offset", ${at}), 'e' from gone`;
}

/** Makes ended contracts live. */
export function alive(condition: string): string {
  return `with gone as (delete from ended where ${condition} returning *) insert into live (${sharedColumnsSql}) select ${sharedColumnsSql} from gone`;
}

/** Gives a contract a separate party set in all its rows, in which one list is replaced by `to` (SQL). */
export function otherParties(
  column: 'signatories' | 'observers' | 'witness_parties',
  to: string,
  condition: string,
): string {
  const lists = ['signatories', 'observers', 'witness_parties'].map((name) => (name === column ? to : name));
  return `insert into contract_parties
      select (select max(parties_pk) from contract_parties) + 1, ${lists.join(', ')}
        from contract_parties where parties_pk = (select min(parties_pk) from contracts where ${condition});
    ${['contracts', 'live', 'ended']
      .map(
        (table) => `update ${table} set parties_pk = (select max(parties_pk) from contract_parties) where ${condition}`,
      )
      .join(';')}`;
}
