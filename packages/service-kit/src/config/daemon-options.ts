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
    'Where metrics are read in the format of Prometheus, at the path /metrics: a port of the loopback interface such as localhost:9464 (127.0.0.1 and ::1) or 127.0.0.1:9464, which every user of the machine can read, or the absolute path of a Unix socket (mode 0660) for an agent or a proxy. Empty: no metrics.',
  ),
  'otel.endpoint': option.url(
    '',
    'OpenTelemetry collector that gets spans of requests and metrics (OTLP/HTTP, JSON, at /v1/traces and /v1/metrics). Empty: no export.',
  ),
  'network.proxy': option.text(
    '',
    'HTTP proxy for connections to other machines, such as http://proxy.example:3128. "direct": no proxy, whatever the environment has. Empty: that of the environment (HTTPS_PROXY, HTTP_PROXY), if there is one.',
    { env: 'SELVEDGE_PROXY' },
  ),
  'network.proxyAuthFile': option.text(
    '',
    'File with the user name and the password for the proxy, in one line: user:password. It is read for each connection. Empty: those in the URL of the environment, or no password.',
    { env: 'SELVEDGE_PROXY_AUTH_FILE' },
  ),
  'network.noProxy': option.list(
    [],
    'Hosts that are reached without the proxy: names (with all names below them), suffixes such as .example.com, addresses, and networks such as 10.0.0.0/8; with a port if only that one is meant. This machine is never reached through the proxy. Empty: NO_PROXY of the environment.',
  ),
  'network.caFile': option.text(
    '',
    'File with authorities (PEM) that are trusted in addition to those of Node.js and of the system, such as the authority of a company. A change is noticed within five seconds of the next connection. Empty: no other authorities.',
    { env: 'SELVEDGE_CA_FILE' },
  ),
  'network.clientCertificates': option.list(
    [],
    'Certificates for servers and proxies that want one of their clients: host=file or host:port=file, such as registry.example:5000=/etc/selvedge/registry.pem. The file (PEM) has the certificate, its chain and its key without a passphrase; it is read for each connection. No other host gets one.',
    { env: 'SELVEDGE_CLIENT_CERTIFICATES' },
  ),
} as const
