/** Metrics of the traffic that this participant buys. */
import { gauge } from './description.ts';

const synchronizer = { words: 'id of the synchronizer' } as const;

export const traffic = {
  trafficRunway: gauge({
    name: 'traffic_runway_seconds',
    help: 'How long traffic, or the Amulet that pays for it, lasts at the rate of the last 24 hours or 7 days, whichever is shorter. Not exported while an input is missing; read by the writer every five minutes.',
    use: 'Alert if it is short: explore.traffic_runway has the inputs, and the reason for each missing figure.',
    labels: { synchronizer, resource: { words: 'traffic or amulet' } },
  }),
  trafficBought: gauge({
    name: 'traffic_bought_timestamp_seconds',
    help: 'Record time of the newest stored purchase of traffic for this participant. Not exported before the first.',
    use: 'Old while traffic_runway_seconds is short: nothing buys traffic.',
    labels: { synchronizer },
  }),
};
