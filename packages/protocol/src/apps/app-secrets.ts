/** Names under which a project stores the secrets of its apps. */
import type { AppPlan } from './plan.ts'

/**
 * The secret of the project that a secret of an app is. One from a file or a variable is set under the name of the app before the app is
 * deployed, and is removed with the app.
 */
export const appSecretName = (app: string, secret: AppPlan['secrets'][number]): string =>
  secret.from === 'project' ? secret.secret : `${app}.${secret.name}`

/** Hexadecimal digits that the runtime adds to the name of a secret for each value that a deployment brings along. */
export const appSecretVersionDigits = 12

/** Name of the container of a member: it is an ordinary container of the project. */
export const appContainerName = (app: string, service: string): string => `${app}-${service}`
