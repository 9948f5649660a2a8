import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { UsageError } from '../../failure.ts'

/** @throws UsageError for a latitude that can only be a longitude */
function expectOrder(longitude: string, latitude: string): void {
  if (!(Math.abs(Number(latitude)) > 90) || Math.abs(Number(longitude)) > 90) return
  throw new UsageError(
    `--latitude is ${JSON.stringify(latitude)}; expected from -90 to 90 degrees`,
    `Are the two the wrong way round? --longitude ${latitude} --latitude ${longitude}`,
  )
}

export const gpsUpdate = command({
  path: ['gps', 'update'],
  summary: 'Record the location of the device.',
  options: [
    { flags: '--longitude <degrees>', description: 'decimal degrees, -180 to 180', required: true },
    { flags: '--latitude <degrees>', description: 'decimal degrees, -90 to 90', required: true },
    { flags: '--speed <mps>', description: 'metres per second; default 0' },
    { flags: '--bearing <degrees>', description: 'degrees from north, 0 to 360; default 0' },
    ...accessTokenOptions,
  ],
  examples: ['selvedge gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0'],
  run: async (context, { options }) => {
    const value = (name: string) => String(options[name] ?? '0')
    expectOrder(value('longitude'), value('latitude'))
    const edgeAccessToken = await accessTokenOf(context, options, 'openid')
    return context.runtime.updateGps({
      edgeAccessToken,
      longitude: value('longitude'),
      latitude: value('latitude'),
      speed: value('speed'),
      bearing: value('bearing'),
    })
  },
  human: ({ status }) =>
    status === 'ok'
      ? 'recorded and published'
      : 'recorded; it is published when the runtime reconnects to the discovery service',
})
