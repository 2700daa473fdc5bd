import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { BlockList } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv } from "ajv";
import { parse, parseAllDocuments } from "yaml";
import { constants } from "../../server/src/config/constants.ts";
import { version } from "../../server/src/lib/version.ts";
import { apiVersions, models, moduleOf, validateObject } from "./kubernetes-models.ts";
import { mergedValues, renderChart } from "./render-chart.ts";

const folder = join(import.meta.dirname, "pennyblack");

// A rendered object of any kind.
type Rendered = ReturnType<typeof parse>;

const checkValues = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
  JSON.parse(readFileSync(join(folder, "values.schema.json"), "utf8")) as object,
);

/** Rejects invalid values, as Helm does with the same schema. */
function render(values: Record<string, unknown> = {}): Rendered[] {
  assert.ok(checkValues(mergedValues(folder, values)), JSON.stringify(checkValues.errors));
  return Object.values(renderChart(folder, values)).flatMap((text) =>
    parseAllDocuments(text)
      .map((document) => document.toJS())
      .filter((object) => object !== null),
  );
}

const variants: Record<string, Record<string, unknown>> = {
  "with default values": {},
  "without autoscaler and network policies": { autoscaling: { enabled: false }, network: { enabled: false } },
  "with settings and more ports": {
    settings: { PENNYBLACK_PUBLIC_URL: "https://api.example.com", PENNYBLACK_SERVERS: 3 },
    network: { moreEgressPorts: [8888], apiNamespaces: ["one", "two"] },
  },
  "with placement, annotations and monitoring": {
    image: { digest: `sha256:${"0".repeat(64)}` },
    server: {
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "dedicated", operator: "Exists" }],
      affinity: { nodeAffinity: {} },
      priorityClassName: "high",
      podAnnotations: { "example.com/a": "b" },
      extraEnv: [{ name: "PENNYBLACK_BRAVE_KEY", valueFrom: { secretKeyRef: { name: "brave", key: "key" } } }],
    },
    worker: { nodeSelector: { disk: "ssd" }, priorityClassName: "low", podAnnotations: { "example.com/a": "b" } },
    migrate: { podAnnotations: { "sidecar.istio.io/inject": "false" } },
    monitoring: {
      serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
      prometheusRule: { enabled: true, labels: { release: "prometheus" }, docsUrl: "https://api.example.com" },
    },
  },
  "from a private registry, with an archive and lenses": {
    image: { pullSecrets: [{ name: "registry" }] },
    server: {
      volumes: [{ name: "lenses", configMap: { name: "lenses" } }],
      volumeMounts: [{ name: "lenses", mountPath: "/lenses", readOnly: true }],
    },
    worker: {
      volumes: [{ name: "archive", persistentVolumeClaim: { claimName: "archive" } }],
      volumeMounts: [{ name: "archive", mountPath: "/archive" }],
    },
  },
};

for (const [name, values] of Object.entries(variants)) {
  test(`the chart ${name} renders valid Kubernetes objects`, async () => {
    const objects = render(values);
    assert.ok(objects.length >= 7);
    for (const object of objects) await validateObject(object);
    assert.equal(new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size, objects.length);
  });
}

// The schemas accept unknown fields, as Kubernetes does. The types reject them.
test("no rendered object has an unknown field", () => {
  const objects = Object.values(variants).flatMap((values) => render(values));
  const imports = Object.entries(apiVersions).map(
    ([kind, apiVersion]) => `import type { I${kind} } from "${moduleOf(apiVersion)}";`,
  );
  const literals = objects.map(
    (object, index) => `export const o${index}: I${object.kind} = ${JSON.stringify(object)};`,
  );
  // Beside the types, so that they can be resolved.
  const scratch = mkdtempSync(join(models, "chart-"));
  try {
    writeFileSync(join(scratch, "objects.ts"), [...imports, ...literals].join("\n"));
    const flags = "--noEmit --strict --skipLibCheck --module nodenext --target esnext --ignoreConfig --types".split(
      " ",
    );
    const tsc = join(import.meta.dirname, "../../node_modules/.bin/tsc");
    const { status, stdout } = spawnSync(tsc, [...flags, "", join(scratch, "objects.ts")], { encoding: "utf8" });
    assert.equal(status, 0, stdout);
  } finally {
    rmSync(scratch, { recursive: true });
  }
});

const findObject = (kind: string, name: string): Rendered =>
  render(variants["with settings and more ports"]).find(
    (object) => object.kind === kind && object.metadata.name === name,
  );

test("no pod runs as root, can write, has capabilities or mounts a service account token", () => {
  const pods = render().flatMap(({ spec }) => (spec?.template ? [spec.template.spec] : []));
  assert.equal(pods.length, 3);
  for (const pod of pods) {
    assert.deepEqual(pod.securityContext, {
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      fsGroup: 1000,
      seccompProfile: { type: "RuntimeDefault" },
    });
    assert.equal(pod.automountServiceAccountToken, false);
    for (const container of pod.containers) {
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  }
});

test("the termination grace period covers the drain and the longest search after it", () => {
  const { drainMs } = constants;
  const grace = findObject("Deployment", "pb-server").spec.template.spec.terminationGracePeriodSeconds;
  assert.ok(grace * 1_000 >= drainMs + 20_000, `grace period ${grace} s, drain ${drainMs} ms`);
  // The readiness probe must fail early enough for load balancers to react during the drain.
  const { periodSeconds, failureThreshold } = findObject("Deployment", "pb-server").spec.template.spec.containers[0]
    .readinessProbe;
  assert.ok(periodSeconds * failureThreshold * 1_000 < drainMs / 2);
  // One slow answer of a busy server must not take it out of service.
  assert.ok(failureThreshold >= 3);
});

test("secrets are referenced, not contained, and each pod has its own", () => {
  const text = Object.values(renderChart(folder)).join("\n");
  assert.doesNotMatch(text, /kind: Secret\b/);
  const secretNames = render().flatMap(({ spec }) =>
    (spec?.template?.spec.containers ?? []).map(({ name, envFrom }: Rendered) => [
      name,
      envFrom.flatMap(({ secretRef }: Rendered) => secretRef?.name ?? []),
    ]),
  );
  assert.deepEqual(Object.fromEntries(secretNames), {
    server: ["pennyblack-server"],
    worker: ["pennyblack-worker"],
    migrate: ["pennyblack-migrate"],
  });
});

test("ingress is limited to the API from the ingress namespace and the internal port from monitoring", () => {
  const policies = render().filter(({ kind }) => kind === "NetworkPolicy");
  const deny = policies.find(({ metadata }) => metadata.name === "pb-deny");
  assert.deepEqual(deny.spec.policyTypes, ["Ingress", "Egress"]);
  assert.deepEqual([deny.spec.ingress, deny.spec.egress], [undefined, undefined]);
  const allowed = policies.flatMap(({ spec }) =>
    (spec.ingress ?? []).map(({ from, ports }: Rendered) => [
      ports.map(({ port }: Rendered) => port).join(),
      from
        .map(({ namespaceSelector }: Rendered) => namespaceSelector.matchLabels["kubernetes.io/metadata.name"])
        .join(),
    ]),
  );
  assert.deepEqual(allowed, [
    ["http", "ingress-nginx"],
    ["ops", "monitoring"],
  ]);
});

test("every pod has the image pull secrets, and volumes are mounted at the given paths", () => {
  const fromRegistry = render(variants["from a private registry, with an archive and lenses"]);
  const pods = fromRegistry.flatMap(({ spec }) => (spec?.template ? [spec.template.spec] : []));
  for (const pod of pods) assert.deepEqual(pod.imagePullSecrets, [{ name: "registry" }], pod.containers[0].name);
  const mounts = pods.map(({ volumes, containers: [container] }: Rendered) => [
    container.name,
    ...(volumes ?? []).map(({ name }: Rendered) => name),
    ...(container.volumeMounts ?? []).map(({ mountPath }: Rendered) => mountPath),
  ]);
  assert.deepEqual(
    mounts.toSorted(([a], [b]) => String(a).localeCompare(String(b))),
    [
      ["migrate", "tmp", "/tmp"],
      ["server", "tmp", "lenses", "/tmp", "/lenses"],
      ["worker", "tmp", "archive", "/tmp", "/archive"],
    ],
  );
});

test("egress excludes the metadata service of cloud providers", () => {
  const out = render().find(({ metadata }) => metadata.name === "pb-out");
  const [dns, rest] = out.spec.egress;
  assert.deepEqual([out.spec.egress.length, dns.ports.map(({ port }: Rendered) => port)], [2, [53, 53]]);
  const blocked = new BlockList();
  for (const { ipBlock } of rest.to)
    for (const cidr of ipBlock.except) {
      const [address, prefix] = cidr.split("/");
      blocked.addSubnet(address, Number(prefix), address.includes(":") ? "ipv6" : "ipv4");
    }
  assert.ok(blocked.check("169.254.169.254"));
  assert.ok(blocked.check("fd00:ec2::254", "ipv6"));
  assert.ok(!blocked.check("10.1.2.3"), "private networks must stay reachable for the database");
});

test("placement, annotations, environment and digest reach the pods", () => {
  const values = variants["with placement, annotations and monitoring"];
  const pods = render(values).flatMap(({ spec }) => (spec?.template ? [spec.template] : []));
  const placed = pods.map(({ metadata, spec }: Rendered) => [
    spec.containers[0].name,
    spec.priorityClassName,
    spec.nodeSelector,
    Object.keys(metadata.annotations).filter((name) => name !== "checksum/config"),
    spec.containers[0].env?.map(({ name }: Rendered) => name),
  ]);
  assert.deepEqual(
    placed.toSorted(([a], [b]) => String(a).localeCompare(String(b))),
    [
      ["migrate", "low", { disk: "ssd" }, ["sidecar.istio.io/inject"], undefined],
      ["server", "high", { disk: "ssd" }, ["example.com/a"], ["PENNYBLACK_BRAVE_KEY"]],
      ["worker", "low", { disk: "ssd" }, ["example.com/a"], undefined],
    ],
  );
  for (const { spec } of pods) assert.equal(spec.containers[0].image, `pennyblack@sha256:${"0".repeat(64)}`);
  const server = pods.find(({ spec }: Rendered) => spec.containers[0].name === "server").spec;
  assert.deepEqual([server.tolerations[0].key, server.affinity], ["dedicated", { nodeAffinity: {} }]);
});

test("servers are spread across zones and nodes", () => {
  const { topologySpreadConstraints } = findObject("Deployment", "pb-server").spec.template.spec;
  assert.deepEqual(
    topologySpreadConstraints.map(({ topologyKey }: Rendered) => topologyKey),
    ["topology.kubernetes.io/zone", "kubernetes.io/hostname"],
  );
});

test("the ServiceMonitor selects the internal service, and the PrometheusRule contains the tested alert rules", () => {
  const objects = render(variants["with placement, annotations and monitoring"]);
  const monitor = objects.find(({ kind }) => kind === "ServiceMonitor");
  const selected = objects.filter(
    ({ kind, metadata }) =>
      kind === "Service" &&
      Object.entries(monitor.spec.selector.matchLabels).every(([name, value]) => metadata.labels[name] === value),
  );
  assert.deepEqual(
    selected.map(({ metadata, spec }) => [metadata.name, spec.ports.map(({ name }: Rendered) => name)]),
    [["pb-internal", monitor.spec.endpoints.map(({ port }: Rendered) => port)]],
  );
  const ruleFolder = join(import.meta.dirname, "../prometheus/rules");
  const groups = readdirSync(ruleFolder).flatMap((file) => {
    const text = readFileSync(join(ruleFolder, file), "utf8").replaceAll(
      "http://localhost:8080",
      "https://api.example.com",
    );
    return (parse(text) as { groups: { name: string }[] }).groups;
  });
  const byName = (each: { name: string }[]) => each.toSorted((a, b) => a.name.localeCompare(b.name));
  const rule = objects.find(({ kind }) => kind === "PrometheusRule");
  assert.deepEqual(byName(rule.spec.groups), byName(groups));
  assert.equal(rule.metadata.labels.release, "prometheus");
});

test("the values schema rejects misspelled and invalid values", () => {
  for (const values of [
    { server: { replica: 3 } },
    { settings: { PENNYBLACK_PUBLIC_URL: {} } },
    { image: { digest: "latest" } },
    { network: { moreEgressPorts: [70_000] } },
    { monitoring: { serviceMonitor: { enabled: "yes" } } },
  ])
    assert.equal(checkValues(mergedValues(folder, values)), false, JSON.stringify(values));
});

// An empty `from` of a network policy means every source.
test("the values schema rejects network policies without a namespace", () => {
  for (const name of ["apiNamespaces", "monitoringNamespace"]) {
    for (const value of [[], null, "", [""]]) {
      const values = mergedValues(folder, { network: { [name]: value } });
      assert.equal(checkValues(values), false, `${name}: ${JSON.stringify(value)}`);
    }
    const values = mergedValues(folder, {}) as { network: Record<string, unknown> };
    const { [name]: _removed, ...network } = values.network;
    assert.equal(checkValues({ ...values, network }), false, `without ${name}`);
  }
});

test("PENNYBLACK_SERVERS defaults to the number of replicas and can be overridden", () => {
  const servers = (values: Record<string, unknown>): unknown =>
    render(values).find(({ kind }) => kind === "ConfigMap").data.PENNYBLACK_SERVERS;
  assert.equal(servers({ autoscaling: { minReplicas: 4 } }), "4");
  assert.equal(servers({ autoscaling: { enabled: false }, server: { replicas: 3 } }), "3");
  assert.equal(servers({ settings: { PENNYBLACK_SERVERS: 7 } }), "7");
});

test("a node can be drained when no pod is ready", () => {
  assert.equal(findObject("PodDisruptionBudget", "pb-server").spec.unhealthyPodEvictionPolicy, "AlwaysAllow");
});

test("migrations run before install and upgrade", () => {
  assert.equal(findObject("Job", "pb-migrate").metadata.annotations["helm.sh/hook"], "pre-install,pre-upgrade");
});

test("changed settings restart the pods", () => {
  const annotations = (settings: Record<string, string>): unknown =>
    render({ settings }).find(({ kind }) => kind === "Deployment").spec.template.metadata.annotations;
  assert.notDeepEqual(annotations({ PENNYBLACK_LOG_LEVEL: "warn" }), annotations({ PENNYBLACK_LOG_LEVEL: "info" }));
});

test("the chart and its image tag have the product version", () => {
  const chart = parse(readFileSync(join(folder, "Chart.yaml"), "utf8")) as Record<string, unknown>;
  const values = parse(readFileSync(join(folder, "values.yaml"), "utf8")) as { image: { tag: unknown } };
  assert.deepEqual([chart["version"], chart["appVersion"], values.image.tag], [version, version, version]);
});
