/**
 * The initial templates of the sandbox, except those of the deposits: tokens of version 1 of the token standard in
 * three instruments, delivery versus payment, a license application, and the Iou of the tutorials.
 */
import type { Template } from '../../contracts/model.ts';
import { allocationTemplate } from './allocation-templates.ts';
import { amuletTemplates } from './amulet-templates.ts';
import { holdingTemplates } from './holding-templates.ts';
import { instrumentsV1 } from './instruments.ts';
import { licensingTemplates } from './licensing-templates.ts';
import { accountingTemplates } from './reward-accounting.ts';
import { requestTemplates } from './request-templates.ts';
import { rewardTemplates } from './reward-templates.ts';
import { roundTemplates } from './round-templates.ts';
import { settlementTemplates } from './settlement-templates.ts';
import { factoryTemplate, instructionTemplate } from './transfer-templates.ts';

/** The templates in a fixed order. */
export function demoTemplates(): Template[] {
  return [
    ...holdingTemplates(),
    ...instrumentsV1.flatMap((instrument) => [
      factoryTemplate(instrument),
      instructionTemplate(instrument),
      allocationTemplate(instrument),
    ]),
    ...amuletTemplates(),
    ...roundTemplates(),
    ...rewardTemplates(),
    ...accountingTemplates(),
    ...requestTemplates(),
    ...settlementTemplates(),
    ...licensingTemplates(),
  ];
}
