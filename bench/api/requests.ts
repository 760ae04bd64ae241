/** The requests that `bench:api` measures, by the name of their route. */
import { withClient } from '../postgres.ts';

export interface MeasuredRequest {
  readonly name: string;
  /** Paths that are requested in turn. */
  readonly paths: readonly string[];
}

const contractIds = 200;
const amulet = 'splice-amulet:Splice.Amulet:Amulet';

/** Requests for contracts and parties of this history. */
export function requestsFor(databaseUrl: string): Promise<readonly MeasuredRequest[]> {
  return withClient(databaseUrl, async (client) => {
    const texts = async (sql: string): Promise<readonly string[]> =>
      (await client.query<{ value: string }>(sql)).rows.map(({ value }) => value);
    const ids = await texts(
      `select contract_id as value from explore.contracts order by md5(contract_id) limit ${String(contractIds)}`,
    );
    const owners = await texts(
      `select owner as value from explore.token_balances group by owner order by count(*) desc, owner limit 20`,
    );
    const end = Number((await texts(`select explore.latest_offset()::text as value`))[0]);
    const page = (query: Readonly<Record<string, string>>): string => new URLSearchParams(query).toString();
    const ofOwners = (path: string, name: string): readonly string[] =>
      owners.map((owner) => `${path}?${page({ [name]: owner })}`);
    const middle = String(Math.floor(end / 2));
    return [
      { name: 'contract', paths: ids.map((id) => `/api/contracts/${id}`) },
      { name: 'contract_history', paths: ids.map((id) => `/api/contracts/${id}/history`) },
      { name: 'contracts', paths: [`/api/contracts?${page({ template: amulet, limit: '100' })}`] },
      {
        name: 'contracts by owner',
        paths: owners.map(
          (owner) => `/api/contracts?${page({ template: amulet, where: `payload.owner = '${owner}'` })}`,
        ),
      },
      { name: 'contracts at an offset', paths: [`/api/contracts?${page({ template: amulet, at: middle })}`] },
      { name: 'updates', paths: [`/api/updates?${page({ sort: '-offset' })}`] },
      { name: 'exercises', paths: [`/api/exercises?${page({ from: String(end - 1_000) })}`] },
      { name: 'balances', paths: ofOwners('/api/balances', 'owner') },
      { name: 'holdings', paths: ofOwners('/api/holdings', 'owner') },
      { name: 'movements', paths: ofOwners('/api/movements', 'party') },
      { name: 'traffic_purchases', paths: ['/api/traffic-purchases'] },
      { name: 'validators', paths: ['/api/validators'] },
      { name: 'templates', paths: ['/api/templates'] },
      { name: 'coverage', paths: ['/api/coverage'] },
    ];
  });
}
