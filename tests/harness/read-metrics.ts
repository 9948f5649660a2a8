import { request } from 'node:http'

/** The metrics of a daemon as Prometheus reads them. @param socketPath its `metrics.listen` */
export function readMetrics(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: '/metrics', agent: false }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve(text)
    })
    asked.on('error', reject)
    asked.end()
  })
}
