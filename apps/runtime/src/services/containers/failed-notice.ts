import type { Notices } from '../../device/node/notices.ts'
import type { DeploymentStore } from '../deployments/deployments.ts'
import { idOf, ofAccount } from '../deployments/ownership.ts'

/** Makes a function that shows the notice `container_failed` while a container is given up, and clears it when all containers may run. */
export function createFailedNotice(
  store: Pick<DeploymentStore, 'value'>,
  notices: Notices,
  accountId: () => string,
): () => void {
  return () => {
    const own = ofAccount(store.value.containers, accountId()).map(([, each]) => each)
    const failed = own.filter((each) => each.wanted === 'running' && each.failed !== null)
    if (failed.length === 0) notices.clear('container_failed')
    else
      notices.raise('container_failed', {
        containers: failed.map((each) => ({ id: idOf(each), why: each.failed })),
      })
  }
}
