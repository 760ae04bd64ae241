/** Names of the generated views. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { historySuffix, viewName } from '../../src/daml/view-names.ts';
import { expectProperty } from '../support/chance/property.ts';

const none: ReadonlySet<string> = new Set();

/** Name of the view of a template or interface, or of one of its choices. */
function nameOf(packageName: string, template: string, choice = '', taken: Iterable<string> = none): string {
  const [moduleName = '', entityName = ''] = template.split(':');
  return viewName({ packageName, moduleName, entityName, choice }, new Set(taken));
}

describe('viewName()', () => {
  it.each([
    ['splice-amulet', 'Splice.Amulet:LockedAmulet', '', 'splice_amulet__locked_amulet'],
    [
      'splice-amulet',
      'Splice.AmuletRules:AmuletRules',
      'AmuletRules_Transfer',
      'splice_amulet__amulet_rules__transfer',
    ],
    ['splice-api-token-holding-v1', 'Splice.Api.Token.HoldingV1:Holding', '', 'token_holding_v1__holding'],
    [
      'splice-api-token-transfer-instruction-v1',
      'Splice.Api.Token.TransferInstructionV1:TransferInstruction',
      'TransferInstruction_Accept',
      'transfer_instruction_v1__transfer_instruction__accept',
    ],
    ['splice-token-test-trading-app', 'Splice.Testing.Apps.TradingApp:OTCTrade', '', 'trading_app__otc_trade'],
    ['iou', 'Main:Iou', 'Transfer', 'iou__iou__transfer'],
    ['MyHTTPServer', 'Main:HTTPServer', '', 'http_server__http_server'],
    ['model-1-0-0', 'Main:X509Cert', '', 'model_1_0_0__x509_cert'],
    ['2048-game', 'Main:Board', '', '_2048_game__board'],
    ["o'clock", "Main:Foo'", "It's_Ok", 'o_clock__foo__it_s_ok'],
    ['漢', 'Main:字', '', 'x__x'],
  ])('maps %s, %s %s to %s', (packageName, template, choice, name) => {
    expect(nameOf(packageName, template, choice)).toBe(name);
  });

  it('resolves conflicts with the full choice name, the package or the module', () => {
    expect(nameOf('app', 'Main:Trade', 'Trade_Settle', ['app__trade__settle'])).toBe('app__trade__trade_settle');
    const short = nameOf('acme-wallet-payments', 'Main:Request');
    expect(short).toBe('wallet_payments__request');
    expect(nameOf('splice-wallet-payments', 'Main:Request', '', [short])).toBe('splice_wallet_payments__request');
    expect(nameOf('iou', 'Main.Two:Iou', '', ['iou__iou'])).toBe('iou__main_two__iou');
    expect(nameOf('iou', 'Main.Two:Iou', 'Transfer', ['iou__iou__transfer'])).toBe('iou__main_two__iou__transfer');
  });

  it('adds a hash to names that differ only in capitals and special characters', () => {
    const taken = ['iou__iou', 'iou__main__iou'];
    const first = nameOf('iou', 'Main:IOU', '', taken);
    expect(first).toMatch(/^iou__main__iou_[0-9a-f]{6}$/);
    const second = nameOf('iou', "Main:Iou'", '', [...taken, first]);
    expect(second).toMatch(/^iou__main__iou_[0-9a-f]{6}$/);
    expect(second).not.toBe(first);
  });

  it('shortens a long name by words of the package and module, then by letters', () => {
    const [entity, choice] = ['AnEntityWithAFairlyLongNameIndeed', 'Choose'];
    expect(nameOf('very-long-words-of-a-packagename-alltogether', `Main:${entity}`, choice)).toBe(
      'alltogether__an_entity_with_a_fairly_long_name_indeed__choose',
    );
    const action = 'AuthorizeAllocationInstructionAction';
    expect(nameOf('splice-test-token-v2', 'Splice.Testing.TokenV2:AccountConfig', action)).toBe(
      'v2__account_config__authorize_allocation_instruction_action',
    );
    const long = 'L'.repeat(80);
    expect(nameOf('my-package', `Main:${long}`) + historySuffix).toBe(`package__${'l'.repeat(45)}${historySuffix}`);
    expect(nameOf('package', 'Main:T', long)).toBe(`package__t__${'l'.repeat(51)}`);
    const cut = nameOf('package', 'Main:T', long, [`package__t__${'l'.repeat(51)}`]);
    expect(cut).toBe(`package__main__t__${'l'.repeat(45)}`);
  });

  it('avoids the names of history views', () => {
    expect(nameOf('iou', 'Main:Iou', 'History', ['iou__iou'])).toBe('iou__main__iou__history');
    expect(nameOf('iou', 'Main:Iou', '', ['iou__iou__history'])).toBe('iou__main__iou');
  });

  it('returns unique identifiers of at most 63 characters for arbitrary input', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 90 });
    const alike = fc.constantFrom('A', 'a', 'A_', 'A_B', 'a__b', 'History', 'A_History', 'L'.repeat(70));
    const part = fc.oneof(name, alike);
    const things = fc.array(fc.tuple(part, part, part, fc.oneof(part, fc.constant(''))), { maxLength: 20 });
    expectProperty(
      fc.property(things, (all) => {
        const taken = new Set<string>();
        const seenNames = new Set<string>();
        for (const [packageName, moduleName, entityName, choice] of all) {
          const made = viewName({ packageName, moduleName, entityName, choice }, taken);
          expect(viewName({ packageName, moduleName, entityName, choice }, taken)).toBe(made);
          taken.add(made);
          for (const each of choice === '' ? [made, made + historySuffix] : [made]) {
            expect(each).toMatch(/^[a-z_][a-z0-9_]{0,62}$/);
            expect(seenNames.has(each)).toBe(false);
            seenNames.add(each);
          }
        }
      }),
    );
  });
});
