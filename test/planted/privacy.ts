import type { PlantedArea } from './planted.ts';

const policies = 'src/store/roles/party-policies.ts';
const test = 'security/privacy.slow.test.ts';

export const privacy: PlantedArea = {
  name: 'privacy',
  defects: [
    {
      name: 'changes of hosting are shown to everybody',
      file: policies,
      line: 'topology_events: `party_id = any (${mine})`,',
      instead: `topology_events: 'true',`,
      test,
    },
    {
      name: 'who has a stake in a contract sees every exercise on it',
      file: policies,
      line: "exercises: among('event_parties', takesPart),",
      instead: `exercises: among('event_parties', takesPart) + ' or exists (select from contracts c where c.contract_id = exercises.contract_id)',`,
      test,
    },
    {
      name: 'contracts are shown to those who only witnessed them',
      file: policies,
      line: 'const stakes = `signatories && ${mine} or observers && ${mine}`;',
      instead: 'const stakes = `signatories && ${mine} or observers && ${mine} or witness_parties && ${mine}`;',
      test,
    },
    {
      name: 'who is party to contracts is shown to everybody',
      file: policies,
      line: 'contract_parties: stakes,',
      instead: `contract_parties: 'true',`,
      test,
    },
    {
      name: 'ended contracts are shown to everybody',
      file: policies,
      line: `ended: among('contract_parties', stakes),`,
      instead: `ended: 'true',`,
      test,
    },
    {
      name: 'updates that only exercise something are hidden from those who saw it',
      file: policies,
      line: `updates: ofUpdate.join(' or '),`,
      instead: `updates: ofUpdate.slice(1).join(' or '),`,
      test,
    },
    {
      name: 'a function answers with the rights of its owner',
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
