/**
 * The initial templates of the sandbox, except those of the deposits: tokens of version 1 of the token standard in
 * three instruments, delivery versus payment, a license application, and the Iou of the tutorials.
 */
import type { Template } from '../../contracts/model.ts';
import { allocationTemplate } from './allocation-templates.ts';
import { amuletAllocation, lockingFactory } from './amulet-allocations.ts';
import { amuletTemplates } from './amulet-templates.ts';
import { governanceTemplates, lockForGovernance } from './governance-locks.ts';
import { holdingTemplates } from './holding-templates.ts';
import { amulet, instrumentsV1 } from './instruments.ts';
import { licensingTemplates } from './licensing-templates.ts';
import { nameEntry } from './name-entries.ts';
import { accountingTemplates } from './reward-accounting.ts';
import { requestTemplates } from './request-templates.ts';
import { rewardTemplates } from './reward-templates.ts';
import { roundTemplates } from './round-templates.ts';
import { settlementTemplates } from './settlement-templates.ts';
import { factoryTemplate, instructionTemplate } from './transfer-templates.ts';

function factoryOf(instrument: (typeof instrumentsV1)[number]): Template {
  const factory = factoryTemplate(instrument);
  if (instrument !== amulet) return factory;
  return lockingFactory(factory, { ExternalPartyAmuletRules_LockForGovernance: lockForGovernance });
}

/** The templates in a fixed order. */
export function demoTemplates(): Template[] {
  return [
    ...holdingTemplates(),
    ...instrumentsV1.flatMap((instrument) => [
      factoryOf(instrument),
      instructionTemplate(instrument),
      allocationTemplate(instrument),
    ]),
    ...amuletTemplates(),
    amuletAllocation,
    ...governanceTemplates(),
    nameEntry,
    ...roundTemplates(),
    ...rewardTemplates(),
    ...accountingTemplates(),
    ...requestTemplates(),
    ...settlementTemplates(),
    ...licensingTemplates(),
  ];
}
