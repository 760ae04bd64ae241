import type { PlantedArea } from '../planted.ts';

const policies = 'src/store/roles/party-policies.ts';
const history = 'src/store/tables/history.ts';
const test = 'security/privacy.slow.test.ts';

export const privacy: PlantedArea = {
  name: 'privacy',
  defects: [
    {
      name: 'hosting changes are visible to every reader',
      file: history,
      line: 'limited: ({ mine: partyArray }) => `party_id = any (${partyArray})`,',
      instead: `limited: () => 'true',`,
      test,
    },
    {
      name: 'a stakeholder of a contract sees every exercise on it',
      file: history,
      line: "limited: ({ among: inPartySetSql, takesPart: involvedSql }) => inPartySetSql('event_parties', involvedSql),",
      instead: `limited: ({ among: inPartySetSql, takesPart: involvedSql }) => inPartySetSql('event_parties', involvedSql) + ' or exists (select from contracts c where c.contract_id = exercises.contract_id)',`,
      test,
    },
    {
      name: 'contracts are visible to parties that only witnessed them',
      file: policies,
      line: 'const stakesSql = `signatories && ${partyArray} or observers && ${partyArray}`;',
      instead:
        'const stakesSql = `signatories && ${partyArray} or observers && ${partyArray} or witness_parties && ${partyArray}`;',
      test,
    },
    {
      name: 'the parties of contracts are visible to every reader',
      file: 'src/store/tables/names.ts',
      line: 'limited: ({ stakes: stakeholderSql }) => stakeholderSql,',
      instead: `limited: () => 'true',`,
      test,
    },
    {
      name: 'ended contracts are visible to every reader',
      file: history,
      line: `limited: ({ among: inPartySetSql, stakes: stakeholderSql }) => inPartySetSql('contract_parties', stakeholderSql),\n    sizes: 'ended',`,
      instead: `limited: () => 'true',\n    sizes: 'ended',`,
      test,
    },
    {
      name: 'updates with exercises only are hidden from their informees',
      file: history,
      line: `limited: () => updateEventConditions.join(' or '),`,
      instead: `limited: () => updateEventConditions.slice(1).join(' or '),`,
      test,
    },
    {
      name: 'a function runs with the rights of its owner',
      file: 'migrations/read/20_read_paths.sql',
      line: 'function :explore.active(template text default null) returns setof :explore.active_contracts',
      instead:
        'function :explore.active(template text default null) returns setof :explore.active_contracts security definer',
      test,
    },
    {
      name: 'views run with the rights of their owner',
      file: 'src/store/roles/secure-views.ts',
      line: 'if (!secure) await',
      instead: `if (!secure && schema === schemas.storage) await`,
      test,
    },
  ],
};
