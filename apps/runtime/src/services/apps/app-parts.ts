/** What the changes of apps share. */
import type { Containers } from '../containers/containers.ts'
import type { DeploymentStore } from '../deployments/deployments.ts'
import type { Images } from '../images/images.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { AppConfigs } from './app-configs.ts'
import type { AttemptParts } from './attempts.ts'
import type { ReleaseFiles } from './release-files.ts'
import type { JoiningEngine } from './requirements.ts'
import type { AppStore } from './stored-apps.ts'

export interface AppParts extends AttemptParts {
  /** Pulls images of an owner. */
  readonly images: Pick<Images, 'deploy'>
  readonly store: AppStore
  readonly deployments: Pick<DeploymentStore, 'value'>
  readonly containers: Pick<
    Containers,
    'deployTogether' | 'removeTogether' | 'startTogether' | 'stopTogether' | 'get' | 'usersOfSecret'
  >
  readonly secrets: Pick<Secrets, 'remove' | 'set' | 'list' | 'versionOf'>
  readonly configs: AppConfigs
  readonly releases: ReleaseFiles
  readonly engine: JoiningEngine
}
