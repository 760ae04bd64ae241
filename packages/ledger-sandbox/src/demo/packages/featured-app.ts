/** The interface with which applications mark their activity: splice-api-featured-app-v1. */
import { interfaceDefinition, nonconsuming, record } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { library } from './library.ts';

export const featuredApp = writePackage({
  name: 'splice-api-featured-app-v1',
  version: '1.0.0',
  imports: library,
  modules: {
    'Splice.Api.FeaturedAppRightV1': {
      AppRewardBeneficiary: record({ beneficiary: 'Party', weight: 'Decimal' }),
      FeaturedAppRightView: record({ dso: 'Party', provider: 'Party' }),
      FeaturedAppRight_CreateActivityMarkerResult: record({
        activityMarkerCids: '[ContractId FeaturedAppActivityMarker]',
      }),
      FeaturedAppRight: interfaceDefinition('FeaturedAppRightView', {
        FeaturedAppRight_CreateActivityMarker: nonconsuming(
          { beneficiaries: '[AppRewardBeneficiary]' },
          'FeaturedAppRight_CreateActivityMarkerResult',
        ),
      }),
      FeaturedAppActivityMarkerView: record({
        dso: 'Party',
        provider: 'Party',
        beneficiary: 'Party',
        weight: 'Decimal',
      }),
      FeaturedAppActivityMarker: interfaceDefinition('FeaturedAppActivityMarkerView'),
    },
  },
});
