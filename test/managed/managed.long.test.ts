/** Managed services, simulated on the embedded server. */
import { testManagedServices } from './suite.ts';

testManagedServices('embedded');
