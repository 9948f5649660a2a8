import type { Methods } from '@selvedge/protocol'
import type { Readiness } from '@selvedge/service-kit/lifecycle'
import type { Metrics } from '@selvedge/service-kit/metrics'
import type { RuntimeConfig } from '../config.ts'
import type { Device } from '../device/device.ts'
import type { Location } from '../location/location.ts'
import type { Services } from '../services/services.ts'

/** What the local API consists of, made by the composition root. */
export interface ApiParts {
  readonly config: RuntimeConfig
  /** The method table. */
  readonly methods: Methods
  readonly device: Device
  readonly location: Location
  readonly services: Services
  /** Absent while nothing reads metrics. */
  readonly metrics: Metrics | undefined
  readonly readiness: Readiness
}
