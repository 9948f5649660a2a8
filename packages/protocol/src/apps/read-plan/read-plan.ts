/**
 * The containers of an app, from its plan, and everything in the plan that the runtime cannot do. `deployApp` and `selvedge compose
 * check` both decide by this: a plan that one accepts, the other accepts. What only a device knows (its images, what its
 * configuration allows, what else runs on it) is not decided here.
 */
import { appContainerName } from '../app-secrets.ts'
import { configBytes } from '../config-content.ts'
import type { AppPlan, AppService } from '../plan.ts'
import { checkFolders, configsOf } from './configs.ts'
import { checkEnv, joined, settingsOf } from './env.ts'
import { checkNetworks, checkTaken, networkSettings } from './networks.ts'
import { checkOnce, checkOrder, isOnce, onceSettings, retriesOf } from './once.ts'
import type { AppProblem, PlanContext, PlanReaderOptions, ReadMember, ReadPlan } from './problems.ts'
import { secretsOf } from './secrets.ts'
import { checkSupported } from './supported.ts'
import { sharedVolumes, volumesOf } from './volumes.ts'
import { checkConfigs, checkSize, checkUnique } from './whole.ts'

export {
  type AppProblem,
  type PlanReaderOptions,
  planPathText,
  type ReadMember,
  type ReadPlan,
} from './problems.ts'

/** @param plan that `appPlan` accepts */
export function readAppPlan(plan: AppPlan, options: PlanReaderOptions): ReadPlan {
  const problems: AppProblem[] = []
  const onNetwork = new Map<string, number>()
  for (const { networks } of plan.services)
    for (const network of new Set(networks.map((each) => each.network)))
      onNetwork.set(network, (onNetwork.get(network) ?? 0) + 1)
  const context: PlanContext = {
    ...options,
    plan,
    add: (path, why, hint) => void problems.push({ path, why, hint }),
    files: new Map(
      plan.configs.map((each) => {
        const bytes = configBytes(each)
        return [each.name, { bytes: bytes.length, digest: options.sha256(bytes) }]
      }),
    ),
    known: new Set(),
    restarts: new Map(plan.services.map(({ name, restart }) => [name, restart])),
    shared: sharedVolumes(plan, options.appVolumes ?? []),
    paths: new Map(),
    ports: new Map(),
    onNetwork,
  }
  checkUnique(context)
  checkSize(context)
  checkConfigs(context)
  const members = plan.services.map((service, at) => {
    const member = readMember(context, service, ['services', at])
    context.known.add(service.name)
    return member
  })
  return { members, problems }
}

function readMember(context: PlanContext, service: AppService, path: AppProblem['path']): ReadMember {
  checkSupported(context, service, path)
  checkOnce(context, service, path)
  checkOrder(context, service, path)
  checkNetworks(context, service, path)
  checkEnv(context, service, path)
  const volumes = volumesOf(context, service, path)
  const parts: Record<string, string> = {
    ...joined(context, path, 'MCM.VOLUMES', volumes.own),
    ...joined(context, path, 'MCM.APP_VOLUMES', volumes.shared),
    ...joined(context, path, 'MCM.SECRETS', secretsOf(context, service, path)),
    ...joined(context, path, 'MCM.CONFIGS', configsOf(context, service, path)),
    ...joined(context, path, 'MCM.CONFIG_FOLDERS', service.configFolders ?? []),
    ...settingsOf(service),
  }
  checkFolders(context, service, path)
  checkTaken(context, service, path)
  const named = service.volumes.flatMap(({ volume }) => (volume === null ? [] : [volume]))
  return {
    spec: {
      name: appContainerName(context.plan.name, service.name),
      image: service.image,
      env: {
        ...(isOnce(service) && onceSettings),
        ...networkSettings(context, service),
        ...service.env,
        ...parts,
      },
    },
    networks: service.networks,
    dependsOn: [...new Set(service.dependsOn.map((each) => each.service))],
    volumes: named.filter((each) => !context.shared.has(each)),
    appVolumes: named.filter((each) => context.shared.has(each)),
    retries: retriesOf(service),
  }
}
