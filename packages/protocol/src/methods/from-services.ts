/** Which methods the services of a device may call. */
import { RpcError } from '../errors/rpc-error.ts'
import type { ContainerSettings } from '../mcm/settings.ts'

/** Settings of a container that allow its service more of the local API. */
export type ServiceSetting = 'MCM.EDGE_ID_TOKEN' | 'MCM.MANAGE'

/** Whether services of the device may call a method: always, never, or if their container has the setting. */
export type FromServices = 'yes' | 'no' | ServiceSetting

interface Callable {
  readonly name: string
  readonly fromServices?: FromServices
}

/**
 * Checks that a service may call a method. What the method needs of a token holds for services as well.
 *
 * @param settings of the container that calls
 * @throws RpcError `service_not_allowed`
 */
export function expectFromServices(
  { name, fromServices = 'no' }: Callable,
  settings: Pick<ContainerSettings, ServiceSetting>,
): void {
  if (fromServices === 'yes') return
  if (fromServices === 'no')
    throw new RpcError('service_not_allowed', `services of the device may not call ${name}`)
  if (settings[fromServices] !== true)
    throw new RpcError('service_not_allowed', `${name} needs the setting ${fromServices} of the service`, {
      hint: `Deploy the container with "${fromServices}": "true" if its service should be allowed.`,
    })
}
