/** The volumes of apps, which several members have: data of the app, and not of one of its containers. */
import type { Deployments } from '../deployments/deployments.ts'
import { appDataKey } from '../deployments/ownership.ts'
import { ownerOf, type StoredApp, type StoredApps } from './stored-apps.ts'

/** @returns what is to be removed with an app, also while it is deployed for the first time */
export function dataOfApp(app: StoredApp): Deployments['leaving'] {
  const hasVolumes = [app.current, app.next?.release].some((release) => release?.appVolumes)
  return hasVolumes ? { [appDataKey(ownerOf(app), app.name)]: 'oci' } : {}
}

/** @returns what is to be removed with an account */
export const sharedDataOf = (apps: StoredApps, accountId: string): Deployments['leaving'] =>
  Object.assign(
    {},
    ...Object.values(apps).flatMap((app) => (app.accountId === accountId ? [dataOfApp(app)] : [])),
  )
