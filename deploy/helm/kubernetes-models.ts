import assert from "node:assert/strict";
import { join } from "node:path";
import { installOnDemand } from "../../tools/on-demand/install-on-demand.ts";

/** The API version of each kind that the chart and its examples have. */
export const apiVersions = {
  ConfigMap: "v1",
  Deployment: "apps/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  Job: "batch/v1",
  NetworkPolicy: "networking.k8s.io/v1",
  PodDisruptionBudget: "policy/v1",
  PrometheusRule: "monitoring.coreos.com/v1",
  Service: "v1",
  ServiceMonitor: "monitoring.coreos.com/v1",
};

/** A class of kubernetes-models. */
type Model = new (object: unknown) => { validate(): void };

/** The folder of kubernetes-models. */
export const models = installOnDemand("kubernetes");

/** Fails unless the object matches the schema of its kind. */
export async function validateObject(object: { kind: string; apiVersion: string }): Promise<void> {
  const kind = object.kind as keyof typeof apiVersions;
  assert.equal(object.apiVersion, apiVersions[kind], `version of ${kind}`);
  const Kind = await loadModel(kind);
  new Kind(object).validate();
}

async function loadModel(kind: keyof typeof apiVersions): Promise<Model> {
  const file = join(models, "node_modules", moduleOf(apiVersions[kind]), "index.js");
  const classes = (await import(file)) as Record<string, Model | undefined>;
  const model = classes[kind];
  assert.ok(model, `no schema of ${kind}`);
  return model;
}

export function moduleOf(apiVersion: string): string {
  const isOperator = apiVersion.startsWith("monitoring.");
  return `${isOperator ? "@kubernetes-models/prometheus-operator" : "kubernetes-models"}/${apiVersion}`;
}
