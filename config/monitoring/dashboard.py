#!/usr/bin/env python3
"""Writes the Grafana dashboard:  dashboard.py > netproxy.dashboard.json

Grafana's JSON repeats every property for every panel; here a panel is a line.
"""

import json
import sys

WIDTH = 24
BY_CHANNEL = "{{channel}}"
# A token is a channel's or an identity's.
BY_OWNER = "{{channel}}{{identity}}"


def panel(title, unit, *queries, kind="timeseries", width=12, height=8, **options):
    targets = [{"refId": chr(65 + index), "expr": query, "legendFormat": legend}
               for index, (query, legend) in enumerate(queries)]
    return {
        "title": title, "type": kind, "gridPos": {"w": width, "h": height},
        "datasource": {"type": "prometheus", "uid": "${source}"}, "targets": targets,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, **options}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"},
                    "tooltip": {"mode": "multi"}} if kind == "timeseries" else {
                        "reduceOptions": {"calcs": ["lastNotNull"]}, "textMode": "value_and_name"},
    }


def rate(series, by):
    return f'sum by ({by}) (rate({series}{{channel=~"$channel"}}[$__rate_interval]))'


def quantile(q, series):
    return f"histogram_quantile({q}, {rate(series + '_bucket', 'channel, le')})"


def of(series):
    return f'{series}{{channel=~"$channel"}}'


def of_token(series, more=""):
    return f'{series}{{channel=~"$channel|"{more}}}'


STATES = {"mappings": [{"type": "value", "options": {
    "0": {"text": "no", "color": "green"}, "1": {"text": "yes", "color": "red"}}}]}

PANELS = [
    panel("Up for", "s", ("netproxy_uptime_seconds", "{{instance}}"), kind="stat", width=4, height=4),
    panel("Last reload refused", "none",
          ("1 - netproxy_config_last_reload_successful", "{{instance}}"),
          kind="stat", width=4, height=4, **STATES),
    panel("Sign-in needed", "none",
          ("max by (channel, identity) (" + of_token("netproxy_token_state", ',state=~"dead|failed"') + ")",
           BY_OWNER),
          kind="stat", width=12, height=4, **STATES),
    panel("Log lines lost", "none", ("netproxy_log_lines_dropped_total", "{{instance}}"),
          kind="stat", width=4, height=4),
    panel("Requests", "reqps", (rate("netproxy_requests_total", "channel, status"), "{{channel}} {{status}}")),
    panel("Errors of netproxy", "reqps",
          (rate("netproxy_errors_total", "channel, error") + " > 0", "{{channel}} {{error}}")),
    panel("Time an app waits", "s",
          (quantile(0.5, "netproxy_request_duration_seconds"), "{{channel}} p50"),
          (quantile(0.99, "netproxy_request_duration_seconds"), "{{channel}} p99")),
    panel("Time until the API's first byte", "s",
          (quantile(0.5, "netproxy_upstream_first_byte_seconds"), "{{channel}} p50"),
          (quantile(0.99, "netproxy_upstream_first_byte_seconds"), "{{channel}} p99")),
    panel("Token expires in", "s", (of_token("netproxy_token_expires_in_seconds"), BY_OWNER)),
    panel("Token renewals and failures", "none",
          (f'increase({of_token("netproxy_token_renewals_total")}[$__rate_interval])', BY_OWNER + " renewed"),
          (f'increase({of_token("netproxy_token_failures_total")}[$__rate_interval])', BY_OWNER + " failed")),
    panel("Retries", "reqps", (rate("netproxy_retries_total", "channel"), BY_CHANNEL)),
    panel("Connections to the API", "none",
          (of("netproxy_upstream_connections"), "{{channel}} open"),
          (of("netproxy_upstream_idle_connections"), "{{channel}} idle"),
          (of("netproxy_upstream_waiting_requests"), "{{channel}} requests waiting")),
    panel("Content", "Bps", (rate("netproxy_received_bytes_total", "channel"), "{{channel}} from apps"),
          (rate("netproxy_sent_bytes_total", "channel"), "{{channel}} to apps")),
    panel("Connections of apps", "none", ("netproxy_connections", "{{instance}}"),
          ("increase(netproxy_connections_refused_total[$__rate_interval])", "{{instance}} refused")),
    panel("CPU", "percentunit",
          ('rate(process_cpu_seconds_total{job="netproxy"}[$__rate_interval])', "{{instance}}"),
          ("rate(netproxy_polled_seconds_total[$__rate_interval])", "{{instance}} polling")),
    panel("Memory", "bytes", ('process_resident_memory_bytes{job="netproxy"}', "{{instance}}")),
]


def placed(panels):
    """The panels in rows from left to right."""
    column = row = tallest = 0
    for number, each in enumerate(panels, 1):
        size = each["gridPos"]
        if column + size["w"] > WIDTH:
            column, row, tallest = 0, row + tallest, 0
        size.update(x=column, y=row)
        column, tallest = column + size["w"], max(tallest, size["h"])
        each["id"] = number
    return panels


json.dump({
    "title": "netproxy", "uid": "netproxy", "schemaVersion": 38, "editable": True, "refresh": "30s",
    "time": {"from": "now-3h", "to": "now"}, "tags": ["netproxy"],
    "templating": {"list": [
        {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        {"name": "channel", "type": "query", "label": "Channel", "multi": True, "includeAll": True,
         "allValue": ".*", "refresh": 2, "datasource": {"type": "prometheus", "uid": "${source}"},
         "query": "label_values(netproxy_requests_total, channel)"}]},
    "panels": placed(PANELS)}, sys.stdout, indent=1)
print()
