/** The names of the Global Synchronizer: the entry of a party in splice-amulet-name-service. */
import { consuming, record, template } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { library } from './library.ts';

export const nameService = writePackage({
  name: 'splice-amulet-name-service',
  version: '0.1.25',
  imports: library,
  modules: {
    'Splice.Ans': {
      AnsEntry_ExpireResult: record({}),
      AnsEntry_RenewResult: record({ entryCid: 'ContractId AnsEntry' }),
      AnsEntry: template(
        { user: 'Party', dso: 'Party', name: 'Text', url: 'Text', description: 'Text', expiresAt: 'Time' },
        {
          choices: {
            AnsEntry_Expire: consuming({ actor: 'Party' }, 'AnsEntry_ExpireResult'),
            AnsEntry_Renew: consuming({ extension: 'RelTime' }, 'AnsEntry_RenewResult'),
          },
        },
      ),
    },
  },
});
