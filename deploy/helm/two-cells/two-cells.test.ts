import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv } from "ajv";
import { parse, parseAllDocuments } from "yaml";
import { type Edge, edgeFiles } from "../../../server/src/cells/edge-config.ts";
import { validateObject } from "../kubernetes-models.ts";
import { mergedValues, renderChart } from "../render-chart.ts";

// The example with two cells in one cluster: the values of each cell, and HAProxy with its configuration in their namespaces.

// A Kubernetes object of any kind.
type KubernetesObject = ReturnType<typeof parse>;

const chart = join(import.meta.dirname, "../pennyblack");
const read = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");
const edge = JSON.parse(read("cells.json")) as Edge;
const cells = Object.keys(edge.cells);
const manifests = parseDocuments(read("edge.yaml"));
const isValid = new Ajv({ allowUnionTypes: true }).compile(
  JSON.parse(readFileSync(join(chart, "values.schema.json"), "utf8")) as object,
);

test("the values render valid objects, and the migration of each cell names it", async () => {
  assert.deepEqual(cells, ["eu1", "us2"]);
  for (const cell of cells) {
    const values = parse(read(`${cell}.yaml`)) as Record<string, unknown>;
    assert.ok(isValid(mergedValues(chart, values)), JSON.stringify(isValid.errors));
    const objects = renderCell(cell);
    for (const object of objects) await validateObject(object);
    const [container] = find(objects, "Job", "pb-migrate").spec.template.spec.containers;
    assert.deepEqual(container.env, [{ name: "PENNYBLACK_CELL", value: cell }]);
    const { PENNYBLACK_PUBLIC_URL: url } = find(objects, "ConfigMap", "pb-settings").data;
    assert.equal(url, `https://${edge.cells[cell]?.host}`);
  }
});

test("the values of the cells differ only in the name", () => {
  assert.equal(read("us2.yaml"), read("eu1.yaml").replaceAll("eu1", "us2"));
});

test("each server can read the list of cells, and its policies let it reach their internal listeners", () => {
  for (const cell of cells) {
    const objects = renderCell(cell);
    const { PENNYBLACK_FLEET: path } = find(objects, "ConfigMap", "pb-settings").data;
    const { containers } = find(objects, "Deployment", "pb-server").spec.template.spec;
    const folders = containers[0].volumeMounts.map(({ mountPath }: KubernetesObject) => mountPath);
    assert.ok(folders.includes(path.replace(/\/[^/]+$/, "")), path);
    const ports = find(objects, "NetworkPolicy", "pb-out").spec.egress[1].ports;
    assert.ok(ports.some(({ port }: KubernetesObject) => port === 9090));
  }
});

test("HAProxy and its services are valid, and the addresses in cells.json are those of the services", async () => {
  for (const object of manifests) await validateObject(object);
  for (const cell of cells) {
    const service = find(manifests, "Service", "edge", cell);
    const [http, ops] = service.spec.ports.map(({ port }: KubernetesObject) => port);
    assert.deepEqual(edge.cells[cell]?.servers, [`edge.${cell}.svc.cluster.local:${http}`]);
    assert.equal(edge.cells[cell]?.opsPort, ops);
    const pod = find(renderCell(cell), "Deployment", "pb-server").spec.template;
    const labels = Object.entries(service.spec.selector);
    for (const [name, value] of labels) assert.equal(pod.metadata.labels[name], value, name);
    const targets = service.spec.ports.map(({ targetPort }: KubernetesObject) => targetPort);
    assert.deepEqual(
      targets,
      pod.spec.containers[0].ports.map(({ name }: KubernetesObject) => name),
    );
  }
});

test("HAProxy may call the API and check the health of each cell", () => {
  for (const cell of cells) {
    const api = find(renderCell(cell), "NetworkPolicy", "pb-api").spec.ingress[0].from;
    assert.deepEqual(
      api.map(
        ({ namespaceSelector }: KubernetesObject) => namespaceSelector.matchLabels["kubernetes.io/metadata.name"],
      ),
      ["edge"],
    );
    const policy = find(manifests, "NetworkPolicy", "edge", cell).spec;
    assert.deepEqual(policy.podSelector.matchLabels, find(manifests, "Service", "edge", cell).spec.selector);
    const [{ from, ports }] = policy.ingress;
    assert.deepEqual(from[0].namespaceSelector.matchExpressions[0].values, ["edge", ...cells]);
    assert.deepEqual(ports, [{ port: "ops" }]);
  }
});

test("HAProxy has every file of its generated configuration, and listens on the port of its service", () => {
  const files = edgeFiles(edge, { bind: ":8443", folder: "/etc/haproxy" });
  const [container] = find(manifests, "Deployment", "haproxy").spec.template.spec.containers;
  const mounts = container.volumeMounts.map(({ mountPath, subPath }: KubernetesObject) => [mountPath, subPath]);
  const mountedFiles = Object.keys(files).map((name) => [`/etc/haproxy/${name}`, name]);
  const certificates = edge.certificate?.replace(/\/[^/]+$/, "");
  assert.deepEqual(mounts, [["/etc/haproxy", undefined], ...mountedFiles, [certificates, undefined]]);
  assert.match(files["haproxy.cfg"], new RegExp(`bind :${container.ports[0].containerPort} ssl`));
  const [{ targetPort }] = find(manifests, "Service", "haproxy").spec.ports;
  assert.equal(targetPort, container.ports[0].name);
});

function renderCell(cell: string): KubernetesObject[] {
  const values = parse(read(`${cell}.yaml`)) as Record<string, unknown>;
  return Object.values(renderChart(chart, values)).flatMap(parseDocuments);
}

function parseDocuments(text: string): KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null);
}

function find(objects: readonly KubernetesObject[], kind: string, name: string, namespace?: string): KubernetesObject {
  const found = objects.find(
    ({ kind: own, metadata }) =>
      own === kind && metadata.name === name && (namespace === undefined || metadata.namespace === namespace),
  );
  assert.ok(found, `no ${kind} ${name}`);
  return found;
}
