/** Tests the check that every alert is tested. Other tests check that promtool accepts the rules and the cases. */
import { expect, it } from 'vitest';
import { checkAlerts, groupAlertCases } from '../../scripts/dashboards/alerts.ts';

const rules = { groups: [{ rules: [{ alert: 'Down' }, { alert: 'Slow' }, { alert: 'Odd' }, {}] }] };

it('groupAlertCases() reports alerts that lack a firing case or a silent case', () => {
  const cases = [
    {
      tests: [
        { alert_rule_test: [{ alertname: 'Down', exp_alerts: [{}] }, { alertname: 'Down' }] },
        { alert_rule_test: [{ alertname: 'Slow', exp_alerts: [{}] }] },
        { alert_rule_test: [{ alertname: 'Odd', exp_alerts: [] }] },
      ],
    },
  ];
  expect(groupAlertCases(rules, cases)).toEqual([
    { name: 'Down', fires: 1, silent: 1, verdict: 'ok' },
    { name: 'Slow', fires: 1, silent: 0, verdict: 'no silent case' },
    { name: 'Odd', fires: 0, silent: 1, verdict: 'no case in which it fires' },
  ]);
  expect(groupAlertCases(rules, []).map(({ verdict }) => verdict)).toContain(
    'no case in which it fires, no silent case',
  );
});

it('checkAlerts() reports a missing rules file', async () => {
  expect(await checkAlerts('grafana/nothing.yaml', 'test/alerts')).toEqual({
    alerts: [],
    problems: ['grafana/nothing.yaml is missing'],
  });
});
