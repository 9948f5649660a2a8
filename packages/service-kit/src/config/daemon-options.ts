import { option } from './option.ts'

/** Settings that every daemon has. */
export const daemonOptions = {
  'log.level': option.choice(['debug', 'info', 'warn', 'error'], 'info', 'Minimum log level.'),
  'log.format': option.choice(
    ['json', 'pretty'],
    'json',
    'json: one JSON line an event. pretty: lines for a person at a terminal; their format may change.',
  ),
  'drain.seconds': option.seconds(
    0,
    [0, 60],
    'Time after SIGTERM in which /readyz answers 503 and requests are still served, so that a load balancer can send them elsewhere. Set it to more than the interval of its checks.',
  ),
  'metrics.listen': option.localAddress(
    'Where metrics are read in the format of Prometheus, at the path /metrics: a port of the loopback interface such as 127.0.0.1:9464, which every user of the machine can read, or the absolute path of a Unix socket (mode 0660) for an agent or a proxy. Empty: no metrics.',
  ),
  'otel.endpoint': option.url(
    '',
    'OpenTelemetry collector that gets spans of requests and metrics (OTLP/HTTP, JSON, at /v1/traces and /v1/metrics). Empty: no export.',
  ),
} as const
