import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'

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
  run: async (context, { options }) => {
    const value = (name: string) => String(options[name] ?? '0')
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
