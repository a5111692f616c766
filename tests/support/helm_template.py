"""helm_template.py CHART NAMESPACE [VALUES]: what `helm template` prints, by Helm's own engine (helm-python-sdk of PyPI, which
`make kubernetes-tools` installs). Ends with 1 and Helm's sentence when the values are refused."""

import sys

import helm_python
from helm_python.chart import Chart, values_from_yaml


def main(chart, namespace, values_path=None):
    values = {}
    if values_path is not None:
        with open(values_path, encoding="utf-8") as file:
            values = values_from_yaml(file.read())
    try:
        rendered = Chart.load(chart).render(values, name="sluice", namespace=namespace)
    except helm_python.HelmError as error:
        print(error, file=sys.stderr)
        return 1
    for path in sorted(rendered):
        if path.endswith(".yaml") and rendered[path].strip():
            print("---\n" + rendered[path].strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
