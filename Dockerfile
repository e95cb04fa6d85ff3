# The app alone; docker-compose.yml puts FalkorDB beside it.
FROM python:3.12-slim-bookworm

# What the module of the embedded FalkorDB is linked against, for a container that is given no FALKORDB_URL.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 libssl3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 corrigenda

WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY engine ./engine
RUN pip install --no-cache-dir .
COPY app.py ./
COPY pages ./pages
COPY .streamlit ./.streamlit

USER corrigenda
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=2)"]
# All addresses of the container; docker-compose.yml publishes the port on loopback only, and says so. Without that
# (CORRIGENDA_PUBLISHED_ADDRESS) the app starts only when there is a token for its API.
CMD ["streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "8501"]
