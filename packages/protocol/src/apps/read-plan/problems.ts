/** What is wrong with a plan, and what the readers of its parts share. */
import type { ContainerSpec } from '../../methods/containers.ts'
import type { AppPlan, AppService } from '../plan.ts'

/** Something that the runtime cannot do. */
export interface AppProblem {
  /** Names and indexes from the root of the plan, such as `services`, 0, `restart`. */
  readonly path: readonly (string | number)[]
  /** What is not possible, with the name of the service. */
  readonly why: string
  /** What to do instead. */
  readonly hint: string
}

/** A container of the app, and what the app stores about it. */
export interface ReadMember {
  readonly spec: ContainerSpec
  readonly networks: AppService['networks']
  readonly dependsOn: readonly string[]
  /** Names of volumes, which are data of the container. */
  readonly volumes: readonly string[]
  /** Names of volumes of the app, which it shares with other members. */
  readonly appVolumes: readonly string[]
  /** How often it is started again after a failure, if it runs once; null for a service. */
  readonly retries: number | null
}

export interface ReadPlan {
  /** In the order of the plan; of no use if there is a problem. */
  readonly members: readonly ReadMember[]
  readonly problems: readonly AppProblem[]
}

export interface PlanReaderOptions {
  /** SHA-256 of bytes, or of a text in UTF-8, in hexadecimal digits. */
  readonly sha256: (content: string | Uint8Array) => string
  /** Platform of the device, such as `linux/arm64`; if it is undefined, every platform is accepted. */
  readonly platform: string | undefined
  /** Names under which secrets of the plan are stored, where these differ from {@link appSecretName}. */
  readonly secretNames?: ReadonlyMap<string, string>
  /** Names of volumes that members of an earlier release of the app share: they stay volumes of the app. */
  readonly appVolumes?: readonly string[]
}

type AddProblem = (path: AppProblem['path'], why: string, hint: string) => void

/** What the reading of one plan shares. */
export interface PlanContext extends PlanReaderOptions {
  readonly plan: AppPlan
  readonly add: AddProblem
  /** Of the configs of the plan. */
  readonly files: ReadonlyMap<string, { readonly bytes: number; readonly digest: string }>
  /** Services that are before the present one. */
  readonly known: Set<string>
  /** Of the services of the plan. */
  readonly restarts: ReadonlyMap<string, AppService['restart']>
  /** Named volumes that belong to the app: several services have them. */
  readonly shared: ReadonlySet<string>
  /** Service of each path of the gateway, and of each port of the device. */
  readonly paths: Map<string, string>
  readonly ports: Map<string, string>
  /** Services on each network. */
  readonly onNetwork: ReadonlyMap<string, number>
}

/** As messages of the API show it: `services[0].env["MCM.CPU"]`. */
export const planPathText = (path: AppProblem['path']): string =>
  path
    .map((each, at) => {
      if (typeof each === 'number') return `[${each}]`
      if (!/^[A-Za-z]+$/.test(each)) return `[${JSON.stringify(each)}]`
      return at === 0 ? each : `.${each}`
    })
    .join('')
