/** Whether the configuration of the device grants a container what its settings name. */
import {
  type ContainerSettings,
  type GrantRule,
  isCdiName,
  RpcError,
  readDeviceRule,
  readMountRule,
  readNetworkRule,
  usedDevices,
  usedMounts,
} from '@selvedge/protocol'
import { idOf } from '../deployments/ownership.ts'
import { type Asking, isGrantedTo } from './granted-to.ts'

/** The rules, as the configuration has them. */
export interface GrantConfig {
  readonly 'services.devices': readonly string[]
  readonly 'services.mounts': readonly string[]
  readonly 'services.hostNetwork': readonly string[]
}

export interface Grants {
  /** @throws RpcError `invalid_params` with the first thing that is not granted, and the rule that grants it */
  expect(container: Asking, settings: ContainerSettings): void
}

const present = <T>(value: T | undefined): value is T => value !== undefined

function refused(setting: string, what: string, rule: string): RpcError {
  return new RpcError('invalid_params', `env["${setting}"] has ${what}, which this device does not grant`, {
    hint: `The operator of the device grants it in its configuration: ${rule}`,
  })
}

/** Devices of the Container Device Interface. @param texts of `services.devices` */
export const grantedCdiDevices = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => readDeviceRule(text)?.what ?? []).filter(isCdiName)

export function createGrants(config: GrantConfig): Grants {
  const devices = config['services.devices'].map(readDeviceRule).filter(present)
  const mounts = config['services.mounts'].map(readMountRule).filter(present)
  const networks = config['services.hostNetwork'].map(readNetworkRule).filter(present)
  const grants = (rules: readonly GrantRule[], container: Asking, what: string, isWritable = false) =>
    rules.some(
      (rule) => rule.what === what && (rule.isWritable || !isWritable) && isGrantedTo(rule.to, container),
    )

  return {
    expect(container, settings) {
      const to = `service=${idOf(container)}`
      for (const { source } of usedDevices(settings['MCM.DEVICES']))
        if (!grants(devices, container, source))
          throw refused('MCM.DEVICES', source, `services.devices: ["${source} ${to}"]`)
      for (const { source, isWritable } of usedMounts(settings['MCM.MOUNTS'])) {
        if (grants(mounts, container, source, isWritable)) continue
        const mode = isWritable ? 'rw' : 'ro'
        throw refused('MCM.MOUNTS', `${source}:${mode}`, `services.mounts: ["${source}:${mode} ${to}"]`)
      }
      if (settings['MCM.NETWORK'] === 'host' && !grants(networks, container, 'host'))
        throw refused('MCM.NETWORK', '"host"', `services.hostNetwork: ["${to}"]`)
    },
  }
}
